package registry

import (
	"encoding/json"
	"strings"
	"testing"
)

// B-014: phone numbers as 138****5678, in whatever way they are written; keys not at all.
func TestMaskText(t *testing.T) {
	const signed = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl-_0"
	key := "xqak_" + strings.Repeat("ABCDEFGH234567", 4)[:52]
	for in, want := range map[string]string{
		"":                                "",
		"13812345678":                     "138****5678",
		"tel 138-1234-5678.":              "tel 138****5678.",
		"138 1234 5678":                   "138****5678",
		"+8613812345678":                  "+86138****5678",
		"联系人13812345678，谢谢":               "联系人138****5678，谢谢",
		"a13812345678,19912345678":        "a138****5678,199****5678",
		"008613812345678 or 013812345678": "0086138****5678 or 0138****5678",
		"13812-345678":                    "138****5678",
		"138.1234.5678":                   "138****5678",
		"(138)12345678, (138) 1234-5678":  "(138****5678, (138****5678",
		"１３８１２３４５６７８":                     "138****5678",
		"８６１３８１２３４５６７８":                   "８６138****5678",
		"138.12345678":                    "138.12345678",
		"1００138123456789":                 "1００138123456789",
		strings.ToLower(key):              "xqak_***",
		"token " + signed + ", sent":      "token ***, sent",
		"eyJ.no.token eyJhbGciOiJ.x":      "eyJ.no.token eyJhbGciOiJ.x",
		"12812345678":                     "12812345678",
		"138123456789":                    "138123456789",
		"913812345678":                    "913812345678",
		"1381234567":                      "1381234567",
		"138--1234-5678":                  "138--1234-5678",
		"2027-01-31 13:00:00":             "2027-01-31 13:00:00",
		"key " + key + " is":              "key xqak_*** is",
		"Authorization: Bearer abcdefgh":  "Authorization: Bearer ***",
		"bearer of news":                  "bearer of news",
		"order_no":                        "order_no",
		"resq_ABC":                        "resq_ABC",
		// security.md 7.3: what is given to a telling name, whatever it looks like.
		"password=hunter2":                             "password=***",
		"user=app password='two words' host=h":         "user=app password='***' host=h",
		"DB_PASSWORD: hunter2, next":                   "DB_PASSWORD: ***, next",
		"pwd=a;database=d":                             "pwd=***;database=d",
		"x?api_key=abc&y=1":                            "x?api_key=***&y=1",
		"X-Api-Key: abc":                               "X-Api-Key: ***",
		`{"client_secret": "a b", "n": 1`:              `{"client_secret": "***", "n": 1`,
		`{\"password\": \"a b\", n`:                    `{\"password\": \"***\", n`,
		"Authorization: Basic dXNlcjpwYXNz end":        "Authorization: Basic *** end",
		"authorization=Bearer  abc":                    "authorization=Bearer  ***",
		"aws.secretAccessKey = abc":                    "aws.secretAccessKey = ***",
		"access_token => abc":                          "access_token => ***",
		"the password is long":                         "the password is long",
		"passwords: 3":                                 "passwords: 3",
		"password:":                                    "password:",
		"password=***":                                 "password=***",
		"monkey: banana, token: 5":                     "monkey: banana, token: 5",
		"mysql://root:p@ss/word@db:3306/shop":          "mysql://root:***@db:3306/shop",
		"see postgres://app:hunter2@h/d?sslmode=off .": "see postgres://app:***@h/d?sslmode=off .",
		"app:hunter2@tcp(db:3306)/shop":                "app:***@tcp(db:3306)/shop",
		"https://example.com/a@b":                      "https://example.com/a@b",
		"https://example.com:443/x":                    "https://example.com:443/x",
		"redis://:hunter2@cache:6379/0":                "redis://:***@cache:6379/0",
		"note: see a@tcp":                              "note: see a@tcp",
		"sk-abcdefghijklmnopqrstuvwx and more":         "*** and more",
		"ghp_0123456789abcdefghijABCDEFGHIJ012345":     "***",
		"AKIAIOSFODNN7EXAMPLE":                         "***",
		"sk-short":                                     "sk-short",
		"-----BEGIN RSA PRIVATE KEY-----\nMII\n-----END RSA PRIVATE KEY----- x": "*** x",
		"-----BEGIN PRIVATE KEY-----\nMII":                                      "***",
		"-----BEGIN CERTIFICATE-----\nMII":                                      "-----BEGIN CERTIFICATE-----\nMII",
		"CREDITS_" + strings.Repeat("A", 60):                                    "CREDITS_" + strings.Repeat("A", 60),
	} {
		if got := MaskText(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestMask(t *testing.T) {
	key := "resq_" + strings.Repeat("Z", 52)
	for _, c := range []struct{ in, want string }{
		{`{"data":{"n":13812345678,"id":12345678901234567890,"x":null}}`, `{"data":{"id":12345678901234567890,"n":"138****5678","x":null}}`},
		{`{"password":"p","__confirm_token__":"c","API-Key":["a"],"secret":null}`, `{"API-Key":"***","__confirm_token__":"***","password":"***","secret":null}`},
		{`{"db_password":1,"clientSecret":{"a":1},"dsn":"x","token":"kept","secrets":2}`, `{"clientSecret":"***","db_password":"***","dsn":"***","secrets":2,"token":"kept"}`},
		{`{"text":"{\"password\":\"p\"}"}`, `{"text":"{\"password\":\"***\"}"}`},
		{`{"` + key + `":["` + key + `","<b>"]}`, `{"resq_***":["resq_***","<b>"]}`},
		{`{"broken": 13812345678`, `"{\"broken\": 138****5678"`},
		{"\xff13812345678", `"` + "\uFFFD" + `138****5678"`},
		{`[] {}`, `"[] {}"`},
		{``, `""`},
	} {
		got := Mask([]byte(c.in))
		if string(got) != c.want || !json.Valid(got) {
			t.Errorf("%s:\n%s\n%s", c.in, got, c.want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add([]byte(`{"a":[1,"13812345678"]}`))
	f.Add([]byte(`password="a b" mysql://u:p@h Authorization: Basic abc sk-abcdefghijklmnopqrstuvwx`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Mask(raw)
		if !json.Valid(got) {
			t.Errorf("%q: %s", raw, got)
		}
		if again := MaskText(string(got)); again != string(got) {
			t.Errorf("%q: %s holds something still: %s", raw, got, again)
		}
	})
}
