package userop

import "slices"

// maxNesting bounds how deep blocks and parentheses nest, for the stacks of
// this parser and the driver's.
const maxNesting = 64

// usage is what a body does, as far as its text says.
type usage struct {
	words  map[string]int // operands and accessors used, with the line of the first use
	loops  int            // FOR and WHILE in the text
	nested bool           // one of them lies within another
	broken bool           // the text could not be read to its end
	exits  []exit         // statements that leave a loop before its condition does
}

// exit is a break or return that leaves a loop.
type exit struct{ first, end token } // the keyword and the semicolon

// checker reads a body statement by statement. It accepts a subset of GLSL in
// which every name is known, every loop is counted and braces balance, so that
// the text stays inside the function that it is put into.
type checker struct {
	tokens   []token
	next     int
	problems *problems
	usage    usage
	scopes   [][]string // names declared, innermost last; the first are the operands
	nesting  int
	loops    int  // loops around the current statement
	switches int  // switches around it, within the innermost loop
	broken   bool // a statement could not be read to its end
}

// checkBody checks the tokens of a body and says what it uses.
func checkBody(tokens []token, operands []string, p *problems) usage {
	c := &checker{tokens: tokens, problems: p, scopes: [][]string{operands, nil}}
	c.usage.words = make(map[string]int)
	for c.peek().kind != tokenEnd && !c.broken {
		c.statement()
	}
	c.usage.broken = c.broken
	return c.usage
}

func (c *checker) peek() token { return c.tokens[c.next] }

func (c *checker) take() token {
	t := c.tokens[c.next]
	if t.kind != tokenEnd {
		c.next++
	}
	return t
}

// is reports whether the next token is the given one.
func (c *checker) is(text string) bool {
	t := c.peek()
	return t.kind != tokenEnd && t.text == text
}

// expect takes the next token, which has to be the given one.
func (c *checker) expect(text, after string) {
	if c.is(text) {
		c.take()
		return
	}
	c.fail("expected %q after %s", text, after)
}

// fail reports what is wrong at the next token and ends the check, because
// what follows cannot be understood.
func (c *checker) fail(format string, args ...any) {
	if c.broken {
		return
	}
	c.broken = true
	t := c.peek()
	if t.kind == tokenEnd {
		c.problems.add(t.line, format+", the file ends here", args...)
		return
	}
	c.problems.add(t.line, format+", found %q", append(args, t.text)...)
}

// statement reads one statement.
func (c *checker) statement() {
	if c.nesting++; c.nesting > maxNesting {
		c.fail("more than %d statements within one another", maxNesting)
	}
	defer func() { c.nesting-- }()
	if c.broken {
		return
	}
	switch t := c.peek(); {
	case t.text == "{":
		c.block()
	case t.text == ";":
		c.take()
	case t.text == "if":
		c.condition()
	case t.text == "switch":
		c.choice()
	case t.text == "FOR", t.text == "WHILE":
		c.loop()
	case t.text == "return", t.text == "break", t.text == "continue":
		c.jump()
	case t.text == "const", t.text == "precise", types[t.text] && !c.constructs():
		c.declaration()
	case t.text == "else", t.text == "case", t.text == "default", t.text == "}":
		c.fail("a statement cannot begin here")
	default:
		c.expression(";", "a statement")
		c.expect(";", "the statement")
	}
}

// constructs reports whether the type that comes next is a constructor call.
func (c *checker) constructs() bool {
	return c.tokens[min(c.next+1, len(c.tokens)-1)].text == "("
}

// block reads statements in braces, a scope of their own.
func (c *checker) block() {
	c.take()
	c.scopes = append(c.scopes, nil)
	for !c.is("}") && !c.broken {
		if c.peek().kind == tokenEnd {
			c.fail("expected \"}\" to close the block")
			break
		}
		c.statement()
	}
	c.expect("}", "the block")
	c.scopes = c.scopes[:len(c.scopes)-1]
}

// body reads the statement that belongs to an if or a loop. A declaration
// there would be gone at once, and compilers differ about it.
func (c *checker) body() {
	if t := c.peek(); t.text == "const" || t.text == "precise" || types[t.text] && !c.constructs() {
		c.fail("expected { before a declaration")
		return
	}
	c.statement()
}

func (c *checker) condition() {
	c.take()
	c.parenthesised("if")
	c.body()
	if c.is("else") {
		c.take()
		c.body()
	}
}

// parenthesised reads an expression in parentheses.
func (c *checker) parenthesised(after string) {
	c.expect("(", after)
	c.expression(")", "a condition")
	c.expect(")", "the condition")
}

func (c *checker) choice() {
	c.take()
	c.parenthesised("switch")
	if !c.is("{") {
		c.fail("expected { after switch (…)")
		return
	}
	c.take()
	c.scopes = append(c.scopes, nil)
	c.switches++
	labelled := false
	for !c.is("}") && !c.broken {
		switch {
		case c.is("case"):
			c.take()
			c.expression(":", "a case")
			c.expect(":", "the case")
			labelled = true
		case c.is("default"):
			c.take()
			c.expect(":", "default")
			labelled = true
		case !labelled:
			c.fail("expected case or default")
		default:
			c.statement()
		}
	}
	c.switches--
	c.scopes = c.scopes[:len(c.scopes)-1]
	c.expect("}", "the switch")
}

func (c *checker) loop() {
	t := c.take()
	c.use(t)
	c.usage.loops++
	c.usage.nested = c.usage.nested || c.loops > 0
	c.expect("(", t.text)
	c.scopes = append(c.scopes, nil)
	if t.text == "FOR" {
		name := c.peek()
		if name.kind != tokenIdentifier {
			c.fail("expected the name of FOR's counter")
			return
		}
		c.take()
		c.expect(",", "the name of FOR's counter")
		c.expression(")", "FOR's count")
		c.declare(name)
	} else {
		c.expression(")", "WHILE's condition")
	}
	c.expect(")", t.text)
	switches := c.switches
	c.loops, c.switches = c.loops+1, 0
	c.body()
	c.loops, c.switches = c.loops-1, switches
	c.scopes = c.scopes[:len(c.scopes)-1]
}

func (c *checker) jump() {
	t := c.take()
	switch {
	case t.text == "break" && c.loops == 0 && c.switches == 0:
		c.problems.add(t.line, "break outside a loop and a switch")
	case t.text == "continue" && c.loops == 0:
		c.problems.add(t.line, "continue outside a loop")
	}
	end := c.peek()
	c.expect(";", t.text)
	if c.loops > 0 && (t.text == "return" || t.text == "break" && c.switches == 0) {
		c.usage.exits = append(c.usage.exits, exit{t, end})
	}
}

// declaration reads variables of one type, each with its value. The value is
// demanded: what an unset variable holds would differ between devices.
func (c *checker) declaration() {
	for c.is("const") || c.is("precise") {
		c.take()
	}
	if t := c.peek(); !types[t.text] {
		c.fail("expected a type")
		return
	}
	c.take()
	for !c.broken {
		name := c.peek()
		if name.kind != tokenIdentifier {
			c.fail("expected the name of a variable")
			return
		}
		c.take()
		if c.is("(") {
			c.fail("functions cannot be defined; an opcode is plain statements")
			return
		}
		if c.is("[") {
			c.fail("arrays are refused, no one checks their indices; keep tables in the window")
			return
		}
		if !c.is("=") {
			c.fail("variable %s has no value; give it one", name.text)
			return
		}
		c.take()
		c.expression(",;", "the value of "+name.text)
		c.declare(name)
		if c.is(";") {
			c.take()
			return
		}
		c.expect(",", "the value of "+name.text)
	}
}

// declare adds a name to the innermost scope.
func (c *checker) declare(t token) {
	if reason := badName(t.text); reason != "" {
		c.problems.add(t.line, "%q cannot be a variable: %s", t.text, reason)
	} else if c.declared(t.text) {
		c.problems.add(t.line, "%s is declared already; a name means one thing throughout", t.text)
	}
	last := len(c.scopes) - 1
	c.scopes[last] = append(c.scopes[last], t.text)
}

func (c *checker) declared(name string) bool {
	return slices.ContainsFunc(c.scopes, func(names []string) bool { return slices.Contains(names, name) })
}

// use notes the first use of a word.
func (c *checker) use(t token) {
	if _, known := c.usage.words[t.text]; !known {
		c.usage.words[t.text] = t.line
	}
}
