package registry

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// One-time passwords are those of RFC 6238 with the values that every authenticator has: SHA-1, six digits, thirty seconds.
const (
	totpStep   = 30 * time.Second
	totpDigits = 6
	totpSecret = 20 // bytes
	totpDrift  = 1  // steps by which a clock may be wrong, either way
)

var totpText = base32.StdEncoding.WithPadding(base32.NoPadding)

// totpAt is the one-time password of a secret in a step.
func totpAt(secret []byte, step int64) string {
	m := hmac.New(sha1.New, secret)
	_ = binary.Write(m, binary.BigEndian, step) // a hash takes all
	sum := m.Sum(nil)
	at := sum[len(sum)-1] & 0xf // the dynamic truncation of RFC 4226
	n := binary.BigEndian.Uint32(sum[at:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", totpDigits, n%1_000_000)
}

// totpMatch gives the step that a code belongs to, near a time and after the last one that was used; 0 is none.
func totpMatch(secret []byte, code string, now time.Time, last int64) (step int64) {
	code = strings.Join(strings.Fields(code), "")
	at := now.Unix() / int64(totpStep/time.Second)
	for s := at - totpDrift; s <= at+totpDrift; s++ { // all of them, whichever it is: time tells nothing
		if subtle.ConstantTimeCompare([]byte(totpAt(secret, s)), []byte(code)) == 1 && s > last && step == 0 {
			step = s
		}
	}
	return step
}

// TOTPAddress is the otpauth address by which authenticators take a secret.
func TOTPAddress(name, secret string) string {
	return "otpauth://totp/" + url.PathEscape("resq:"+name) + "?secret=" + secret + "&issuer=resq"
}

// SetTOTP gives an admin a new secret of one-time passwords, which its logins need from now on, or with on false takes
// it away. Its sessions end. The secret is shown this once. The error is a problem.
func (c *Control) SetTOTP(ctx context.Context, name string, on bool) (a *Admin, secret string, err error) {
	var sealed any
	if on {
		raw := make([]byte, totpSecret)
		_, _ = rand.Read(raw) // never fails: crypto/rand ends the program instead
		secret = totpText.EncodeToString(raw)
		sealed = c.seal(secret, "totp "+name)
	}
	if a, err = c.changeAdmin(ctx, name, "totp_step = 0, totp = ?", sealed); err != nil {
		return nil, "", err
	}
	return a, secret, nil
}
