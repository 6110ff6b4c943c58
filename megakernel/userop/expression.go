package userop

import "strings"

// expression reads tokens up to one of the single characters in ends that
// stands outside parentheses, and leaves that. It checks names and parentheses;
// the rest of the grammar and the types are the compiler's. The text cannot mean
// more than an expression, because no token of a statement is let through.
func (c *checker) expression(ends, what string) {
	depth, questions := 0, 0
	for first := true; !c.broken; first = false {
		t := c.peek()
		switch {
		case t.kind == tokenEnd:
			c.fail("%s is not finished", what)
		case depth == 0 && len(t.text) == 1 && strings.Contains(ends, t.text) && !(t.text == ":" && questions > 0):
			if first {
				c.fail("expected %s", what)
			}
			return
		case t.kind == tokenNumber:
			c.take()
		case t.kind == tokenIdentifier:
			c.word(t)
		default:
			c.punctuation(t, &depth, &questions, what)
		}
	}
}

// punctuation takes a token of an expression that is neither name nor number.
func (c *checker) punctuation(t token, depth, questions *int, what string) {
	switch t.text {
	case "(":
		if *depth++; *depth > maxNesting {
			c.fail("more than %d parentheses within one another", maxNesting)
		}
	case ")":
		*depth--
	case "?":
		*questions++
	case ":":
		*questions--
	case "[", "]":
		c.fail("arrays and indices are refused, no one checks them; use .x to .w, and load for tables")
	case ".":
		if !c.swizzled() {
			c.fail("expected .x, .y, .z, .w or several of them")
			return
		}
		c.take()
	}
	if *depth < 0 || *questions < 0 || t.text == "{" || t.text == "}" || t.text == ";" || t.text == "," && *depth == 0 {
		c.fail("%s is not finished", what)
		return
	}
	c.take()
}

// swizzled reports whether the dot that comes next selects components.
func (c *checker) swizzled() bool {
	t := c.tokens[min(c.next+1, len(c.tokens)-1)]
	if t.kind != tokenIdentifier || len(t.text) > 4 {
		return false
	}
	return strings.Trim(t.text, "xyzw") == "" || strings.Trim(t.text, "rgba") == ""
}

// word takes a name within an expression, which has to be known and used as
// what it is.
func (c *checker) word(t token) {
	c.take()
	called := c.is("(")
	_, accessor := Accessors[t.text]
	switch {
	case t.text == "FOR", t.text == "WHILE":
		c.problems.add(t.line, "%s is a statement", t.text)
	case accessor, functions[t.text], types[t.text]:
		if accessor {
			c.use(t)
		}
		if !called {
			c.problems.add(t.line, "expected ( after %s", t.text)
		}
	case c.declared(t.text):
		c.use(t)
		if called {
			c.problems.add(t.line, "%s is no function", t.text)
		}
	case t.text == "true", t.text == "false":
	case statements[t.text]:
		c.next--
		c.fail("a statement begins within an expression")
	default:
		c.problems.add(t.line, "%s is refused: %s", t.text, refusal(t.text))
		// After a keyword of GLSL nothing can be understood.
		c.broken = c.broken || reserved[t.text]
	}
}
