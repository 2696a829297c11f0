package registry

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Note [what looks like a secret]
//
// What is a secret shows in its form (keys of this program and of others, signed tokens, private keys), in the word before
// it (Bearer), in the name that it is given (password=…), or in its place (a URL with a password). All are hidden wherever
// they stand in a text. Hiding a word too many costs nothing but that word.

// secretAt finds a secret at a place.
func secretAt(s string, i int) (n int, with string) {
	if i > 0 && isWord(s[i-1]) || !isWord(s[i]) && s[i] != '-' {
		return 0, ""
	}
	rest := s[i:]
	for _, find := range []func(string) (int, string){schemeOf, formOf, tokenOf, addressOf, keyOf, namedOf} {
		if n, with := find(rest); n > 0 {
			return n, with
		}
	}
	return 0, ""
}

// schemes are the words of an Authorization header behind which the secret stands.
var schemes = []string{"bearer ", "basic ", "digest ", "token "}

// schemeOf finds whatever follows the word Bearer, if it is long enough for a key.
func schemeOf(s string) (n int, with string) {
	if len(s) <= 7 || !strings.EqualFold(s[:7], schemes[0]) {
		return 0, ""
	}
	j := 7
	for j < len(s) && s[j] != ' ' && s[j] != '"' && s[j] != '\'' && s[j] != ',' {
		j++
	}
	if j-7 < keyShort/2 {
		return 0, ""
	}
	return j, s[:7] + hidden
}

// forms are keys that others make, each known by how it begins.
var forms = regexp.MustCompile(`^(?:sk-[A-Za-z0-9_-]{20,}|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,}|AIza[A-Za-z0-9_-]{30,}|npm_[A-Za-z0-9]{30,})`)

func formOf(s string) (n int, with string) {
	if strings.HasPrefix(s, "-----BEGIN ") {
		head, rest, ok := strings.Cut(s[len("-----BEGIN "):], "-----")
		if !ok || !strings.HasSuffix(head, "PRIVATE KEY") {
			return 0, ""
		}
		end := "-----END " + head + "-----"
		if i := strings.Index(rest, end); i >= 0 {
			return len(s) - len(rest) + i + len(end), hidden
		}
		return len(s), hidden
	}
	if s[0] != 's' && s[0] != 'A' && s[0] != 'g' && s[0] != 'x' && s[0] != 'n' {
		return 0, ""
	}
	return len(forms.FindString(s)), hidden
}

func tokenOf(s string) (n int, with string) { return tokenAt(s), hidden }

// tokenAt is the length of a JWT that s begins with: three parts, the first of which is the base64 of an object.
func tokenAt(s string) int {
	if !strings.HasPrefix(s, "eyJ") {
		return 0
	}
	end := 0
	for part := range 3 {
		from := end
		for end < len(s) && (s[end] == '-' || isWord(s[end]) && s[end] < utf8.RuneSelf) {
			end++
		}
		if part == 2 {
			return end
		}
		if end-from < 8 || end == len(s) || s[end] != '.' {
			return 0
		}
		end++
	}
	return end
}

// keyOf finds a key that this program made, in capitals or not.
func keyOf(s string) (n int, with string) {
	j := 0
	for j < len(s) && (s[j] >= 'a' && s[j] <= 'z' || isDigit(s[j])) {
		j++
	}
	if j == 0 || j > 15 || j >= len(s) || s[j] != '_' {
		return 0, ""
	}
	k := j + 1
	for k < len(s) && (s[k] >= 'A' && s[k] <= 'Z' || s[k] >= 'a' && s[k] <= 'z' || s[k] >= '2' && s[k] <= '7') {
		k++
	}
	if k-j-1 < 40 {
		return 0, ""
	}
	return k, s[:j+1] + hidden
}

// maxAddress bounds what is looked through for the @ of an address, so that no text takes long.
const maxAddress = 2048

// addressOf finds a password in a URL, or in a DSN of the form user:password@tcp(host): what stands between the name of
// the user and the last @.
func addressOf(s string) (n int, with string) {
	j := 0
	for j < len(s) && (isWord(s[j]) || s[j] == '+' || s[j] == '-' || s[j] == '.') && s[j] < utf8.RuneSelf {
		j++
	}
	if j == 0 || j == len(s) || s[j] != ':' {
		return 0, ""
	}
	s = s[:min(len(s), maxAddress)]
	end := strings.IndexAny(s, " \t\r\n\"'`<>|")
	if end < 0 {
		end = len(s)
	}
	if end < j {
		return 0, ""
	}
	from := j + 1
	if strings.HasPrefix(s[j:], "://") {
		colon := strings.IndexAny(s[j+3:end], ":/?#")
		if colon < 0 || s[j+3+colon] != ':' {
			return 0, ""
		}
		from = j + 3 + colon + 1
	} else if !strings.Contains(s[j:end], "@tcp(") && !strings.Contains(s[j:end], "@unix(") {
		return 0, ""
	}
	at := strings.LastIndexByte(s[:end], '@')
	if at <= from {
		return 0, ""
	}
	return at, s[:from] + hidden
}

// maxTelling is how long a name may be that tells of a secret.
const maxTelling = 64

// namedOf finds what is given to a telling name: password=…, "api_key": "…", X-Api-Key: ….
func namedOf(s string) (n int, with string) {
	j := 0
	for j < len(s) && j < maxTelling && (isWord(s[j]) || s[j] == '-' || s[j] == '.') && s[j] < utf8.RuneSelf {
		j++
	}
	if j == len(s) || !tells(s[strings.LastIndexByte(s[:j], '.')+1:j]) {
		return 0, ""
	}
	blanks := func() {
		for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
			j++
		}
	}
	for j < len(s) && (s[j] == '\\' || s[j] == '"' || s[j] == '\'' || s[j] == '`') { // around the name
		j++
	}
	blanks()
	switch {
	case strings.HasPrefix(s[j:], ":="), strings.HasPrefix(s[j:], "=>"), strings.HasPrefix(s[j:], "=="):
		j += 2
	case j < len(s) && (s[j] == '=' || s[j] == ':'):
		j++
	default:
		return 0, ""
	}
	blanks()
	for _, scheme := range schemes {
		if len(s)-j > len(scheme) && strings.EqualFold(s[j:j+len(scheme)], scheme) {
			j += len(scheme)
			blanks()
		}
	}
	escaped := j < len(s) && s[j] == '\\'
	if escaped {
		j++
	}
	from, ends := j, " \t\r\n,;&\"'`)]}<>|\\"
	if j < len(s) && (s[j] == '"' || s[j] == '\'' || s[j] == '`') {
		if from, ends = j+1, s[j:j+1]; escaped {
			ends += "\\"
		}
	}
	end := strings.IndexAny(s[from:], ends)
	if end < 0 {
		end = len(s) - from
	}
	if end == 0 {
		return 0, ""
	}
	return from + end, s[:from] + hidden
}

// telling are what the names of secrets end with, without their hyphens and underscores.
var telling = []string{"password", "passwd", "passwort", "passphrase", "passwordhash", "pwd", "secret", "credential", "credentials", "apikey", "accesskey", "secretkey", "privatekey", "signingkey",
	"encryptionkey", "accesstoken", "refreshtoken", "idtoken", "authtoken", "sessiontoken", "bearertoken", "confirmtoken", "clientsecret", "authorization", "connectionstring", "dsn", "口令", "密码"}

var bare = strings.NewReplacer("_", "", "-", "")

// tells says whether what a name is given is a secret, whatever tool it is for.
func tells(name string) bool {
	if len(name) > maxTelling {
		return false
	}
	name = strings.ToLower(bare.Replace(name))
	for _, end := range telling {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// hideKeys hides the words of a text that are secrets by what is known, whatever they look like: keys of the configuration.
func hideKeys(text string, is func(string) bool) string {
	if len(text) < keyShort {
		return text
	}
	if is(strings.TrimSpace(text)) {
		return hidden
	}
	for _, parts := range []string{" \t\r\n\"'`", " \t\r\n\"'`=,;:()[]{}<>&|"} {
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(parts, r) }) {
			if len(word) >= keyShort && len(word) <= maxKey && is(word) {
				text = strings.ReplaceAll(text, word, hidden)
			}
		}
	}
	return text
}

// hideAll is hideKeys for every text and name of a value.
func hideAll(v any, is func(string) bool) any {
	switch x := v.(type) {
	case string:
		return hideKeys(x, is)
	case []any:
		for i := range x {
			x[i] = hideAll(x[i], is)
		}
	case map[string]any:
		out := make(map[string]any, len(x))
		for name, value := range x {
			out[hideKeys(name, is)] = hideAll(value, is)
		}
		return out
	}
	return v
}
