package userop

import "strings"

// tokenKind is what a token is.
type tokenKind uint8

const (
	tokenEnd        tokenKind = iota // after the last token
	tokenIdentifier                  // a name or a keyword
	tokenNumber
	tokenPunctuation
)

// token is one token of a body.
type token struct {
	kind tokenKind
	text string
	line int // line of the file, from 1
	at   int // offset in the body
}

// operators of GLSL that a body may use, the longer ones first. Brackets are
// known, to be refused with a reason.
var operators = []string{
	"<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "^^", "++", "--",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=",
	"(", ")", "{", "}", "[", "]", ";", ",", ".", ":", "?", "=", "<", ">", "!", "~", "+", "-", "*", "/", "%", "&", "|", "^",
}

// lex splits body into tokens and returns with them the body as the compiler
// will see it: comments become blanks, so that no compiler can disagree with
// this one about where a comment ends. Lines and columns stay.
func lex(body string, line int, p *problems) ([]token, string) {
	var tokens []token
	clean := []byte(body)
	for i := 0; i < len(body); {
		rest := body[i:]
		switch c := rest[0]; {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t':
			i++
		case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
			n := commentLength(rest)
			if n < 0 {
				p.add(line, "this comment has no end; close it with */")
				n = len(rest)
			}
			line += blank(clean[i : i+n])
			i += n
		default:
			t, n := lexToken(rest, line, p)
			if t.kind != tokenEnd {
				t.at = i
				tokens = append(tokens, t)
			}
			i += n
		}
	}
	return append(tokens, token{kind: tokenEnd, line: line}), string(clean)
}

// commentLength is the length of the comment s begins with, -1 if it has no
// end. The line break after // is not part of it.
func commentLength(s string) int {
	if s[1] == '/' {
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return n
		}
		return len(s)
	}
	if n := strings.Index(s[2:], "*/"); n >= 0 {
		return n + 4
	}
	return -1
}

// blank overwrites everything but line breaks and returns how many there are.
func blank(b []byte) int {
	lines := 0
	for i, c := range b {
		if c == '\n' {
			lines++
		} else {
			b[i] = ' '
		}
	}
	return lines
}

// lexToken reads the token s begins with and its length. A token that is no
// part of the language is reported and has kind tokenEnd.
func lexToken(s string, line int, p *problems) (token, int) {
	switch c := s[0]; {
	case isLetter(c):
		n := 1
		for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
			n++
		}
		return token{kind: tokenIdentifier, text: s[:n], line: line}, n
	case isDigit(c), c == '.' && len(s) > 1 && isDigit(s[1]):
		n := numberLength(s)
		if strings.ContainsFunc(s[:n], func(r rune) bool { return !strings.ContainsRune(numerals, r) }) {
			p.add(line, "%q is no number of 32 bits; write 12u, 0x1Fu, -3 or 1.5", s[:n])
		}
		return token{kind: tokenNumber, text: s[:n], line: line}, n
	case c == '#':
		p.add(line, "preprocessor directives are refused; an opcode is plain statements")
		if n := strings.IndexByte(s, '\n'); n >= 0 {
			return token{}, n
		}
		return token{}, len(s)
	}
	for _, o := range operators {
		if strings.HasPrefix(s, o) {
			return token{kind: tokenPunctuation, text: o, line: line}, len(o)
		}
	}
	p.add(line, "character %q is not part of the language", s[0])
	return token{}, 1
}

// numerals are the characters of literals of int, uint and float. That a literal is well formed is for the compiler to see.
const numerals = "0123456789abcdefABCDEFxXuU.+-"

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// numberLength is how much of s a preprocessor takes for one number, which is
// everything that could continue one.
func numberLength(s string) int {
	n := 1
	for n < len(s) {
		switch c := s[n]; {
		case isLetter(c), isDigit(c), c == '.':
		case (c == '+' || c == '-') && (s[n-1] == 'e' || s[n-1] == 'E') && !isHexadecimal(s):
		default:
			return n
		}
		n++
	}
	return n
}

func isHexadecimal(s string) bool { return strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X") }
