package server

import "unicode"

// Tokens estimates what a text costs a model. No tokenizer is part of the program: they are large, differ from
// model to model, and some are not published. The estimate follows how byte-pair tokenizers cut: a word with
// the space before it is one token, and a longer one about another for every nine letters more; capitals begin
// a word; three digits are one; marks that follow each other, as in JSON, go together up to four; two
// Chinese characters are about three halves.
//
// Against o200k_base, the tokenizer of current OpenAI models, it is within 6 % on the tool lists of this server
// in English and Chinese, on the published contract, and on answers of rows; TestTokens holds those figures.
// Older tokenizers need more for Chinese, up to twice as much.
func Tokens(text string) int {
	r := []rune(text)
	halves := 0 // of tokens
	for i := 0; i < len(r); {
		from := i
		switch c := r[i]; {
		case letter(c):
			for i++; i < len(r) && letter(r[i]) && (lower(r[i]) || !lower(r[i-1])); i++ {
			}
			halves += 2 + 2*((i-from-1)/9)
		case c >= '0' && c <= '9':
			for i++; i < len(r) && i-from < 3 && r[i] >= '0' && r[i] <= '9'; i++ {
			}
			halves += 2
		case c == ' ':
			for i++; i < len(r) && r[i] == ' '; i++ {
			}
			if i-from > 1 || i < len(r) && r[i] >= '0' && r[i] <= '9' { // digits are alone
				halves += 2
			}
		case unicode.Is(unicode.Han, c):
			for i++; i < len(r) && unicode.Is(unicode.Han, r[i]); i++ {
			}
			halves += max(2, (i-from)*3/2)
		case c < 0x80:
			for i++; i < len(r) && i-from < 4 && r[i] < 0x80 && r[i] != ' ' && !letter(r[i]) && (r[i] < '0' || r[i] > '9'); i++ {
			}
			halves += 2
		default:
			i++
			halves += 2
		}
	}
	return (halves + 1) / 2
}

func lower(c rune) bool { return c >= 'a' && c <= 'z' }

func letter(c rune) bool { return lower(c) || c >= 'A' && c <= 'Z' }
