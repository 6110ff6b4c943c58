package userop

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// access says what an accessor does to the window.
type access uint8

const (
	accessNone   access = iota
	accessRead          // reads a word
	accessWrite         // writes a word; writing it again changes nothing
	accessUpdate        // changes a word depending on what it was; doing it again changes more
)

// Accessor is a function or macro by which a body reaches its slot.
type Accessor struct {
	Form    string // as it is written, with parameter names
	Meaning string // one sentence
	access  access
}

// reads reports whether the accessor tells a body something of the window.
func (a Accessor) reads() bool { return a.access != accessNone && a.Form[:4] != "void" }

// Accessors are all that a body sees besides its operands and the arithmetic
// of GLSL, by name. The first violation (an address outside the window, a step
// too many) or fail ends the slot in a fault: nothing is written after it, loads
// read 0 and loops end.
var Accessors = map[string]Accessor{
	"load":         {"uint load(uint address)", "The word at a word offset of the window.", accessRead},
	"store":        {"void store(uint address, uint value)", "Writes a word of the window.", accessWrite},
	"atomic_add":   {"uint atomic_add(uint address, uint value)", "Adds to a word, wrapping; returns what it was.", accessUpdate},
	"atomic_min":   {"uint atomic_min(uint address, uint value)", "Keeps the smaller of word and value; returns what it was.", accessWrite},
	"atomic_max":   {"uint atomic_max(uint address, uint value)", "Keeps the larger of word and value; returns what it was.", accessWrite},
	"atomic_and":   {"uint atomic_and(uint address, uint value)", "Keeps the bits that value has; returns what it was.", accessWrite},
	"atomic_or":    {"uint atomic_or(uint address, uint value)", "Sets the bits of value; returns what it was.", accessWrite},
	"atomic_xor":   {"uint atomic_xor(uint address, uint value)", "Flips the bits of value; returns what it was.", accessUpdate},
	"exchange":     {"uint exchange(uint address, uint value)", "Writes a word; returns what it was.", accessUpdate},
	"compare_swap": {"uint compare_swap(uint address, uint expected, uint value)", "Writes value if the word is expected; returns what it was.", accessUpdate},
	"window_words": {"uint window_words()", "Words of the window; addresses are below it.", accessNone},
	"sequence":     {"uint sequence()", "Running number of the slot within its queue, wraps.", accessNone},
	"result":       {"void result(uint value)", "Sets the slot's result word, 0 unless set.", accessNone},
	"fail":         {"void fail(uint code)", "Ends the slot in user fault code, below 3840.", accessNone},
	"FOR":          {"FOR(i, count) { … }", "Runs the block for i = 0 … count - 1; count is evaluated once. Each turn is a step.", accessNone},
	"WHILE":        {"WHILE(condition) { … }", "Runs the block while the condition holds. Each turn is a step.", accessNone},
}

// List is the accessors in the order of their names.
func List() []Accessor {
	var list []Accessor
	for _, name := range slices.Sorted(maps.Keys(Accessors)) {
		list = append(list, Accessors[name])
	}
	return list
}

// reservedPrefix begins every name that the accessors' own code uses.
const reservedPrefix = "rm_"

func set(words string) map[string]bool {
	s := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		s[w] = true
	}
	return s
}

// types a body may use. Arrays, matrices and doubles are none of them: the
// first have indices no one checks.
var types = set("uint int bool float uvec2 uvec3 uvec4 ivec2 ivec3 ivec4 bvec2 bvec3 bvec4 vec2 vec3 vec4")

// functions of GLSL 4.30 that are functions of their arguments only.
var functions = set(`
	radians degrees sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
	pow exp log exp2 log2 sqrt inversesqrt
	abs sign floor trunc round roundEven ceil fract mod modf min max clamp mix step smoothstep isnan isinf
	floatBitsToInt floatBitsToUint intBitsToFloat uintBitsToFloat fma frexp ldexp
	packUnorm2x16 packSnorm2x16 packUnorm4x8 packSnorm4x8 packHalf2x16
	unpackUnorm2x16 unpackSnorm2x16 unpackUnorm4x8 unpackSnorm4x8 unpackHalf2x16
	length distance dot cross normalize faceforward reflect refract
	lessThan lessThanEqual greaterThan greaterThanEqual equal notEqual any all not
	uaddCarry usubBorrow umulExtended imulExtended
	bitfieldExtract bitfieldInsert bitfieldReverse bitCount findLSB findMSB`)

// statements are the keywords a body may begin a statement with.
var statements = set("if else switch case default break continue return const precise")

// refused are words of GLSL that someone might reach for, with what to do
// instead. It only makes messages better: every word that is not allowed is refused.
var refused = map[string]string{
	"for":      "loops are FOR(i, count) { … } and WHILE(condition) { … }, whose turns are counted against max-steps",
	"while":    "loops are FOR(i, count) { … } and WHILE(condition) { … }, whose turns are counted against max-steps",
	"do":       "loops are FOR(i, count) { … } and WHILE(condition) { … }, whose turns are counted against max-steps",
	"void":     "functions cannot be defined; an opcode is plain statements",
	"struct":   "structures cannot be defined; use vectors",
	"double":   "doubles are not available; use float or integers",
	"discard":  "use return to end, fail(code) to end in a fault",
	"barrier":  "slots run apart from one another; a fence in the batch orders them",
	"shared":   "slots share nothing but the window; use the atomic accessors",
	"buffer":   "memory is reached by load, store and the atomic accessors",
	"uniform":  "declare an operand in the header instead",
	"layout":   "declare an operand in the header instead",
	"in":       "declare an operand in the header instead",
	"out":      "use result(value) or store(address, value)",
	"arg":      "name the arguments in the header's operands line and use the names",
	"goto":     "GLSL has none",
	"volatile": "memory is reached by load, store and the atomic accessors",
	"coherent": "memory is reached by load, store and the atomic accessors",
}

// reserved are words that GLSL 4.30 keeps for itself and that drivers refuse
// as names.
var reserved = set(`
	attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly atomic_uint
	layout centroid flat smooth noperspective patch sample precise break continue do for while switch case default
	if else subroutine in out inout float double int void bool true false invariant discard return uint
	lowp mediump highp precision struct common partition active asm class union enum typedef template this resource
	goto inline noinline public static extern external interface long short half fixed unsigned superp input output
	hvec2 hvec3 hvec4 fvec2 fvec3 fvec4 filter sizeof cast namespace using packed row_major column_major
	main defined`)

// otherTypes are the types of GLSL in lower case that an opcode may not use.
var otherTypes = regexp.MustCompile(`^d?mat[234](x[234])?$|^dvec[234]$`)

// refusal says why a word that is not allowed is refused.
func refusal(word string) string {
	switch reason, known := refused[word]; {
	case known:
		return reason
	case strings.HasPrefix(word, "gl_"):
		return "built-in variables are not available; a slot does not know which invocation runs it"
	case strings.HasPrefix(word, reservedPrefix):
		return "names that begin with " + reservedPrefix + " belong to the kernel"
	case strings.HasPrefix(word, "memoryBarrier"), strings.HasPrefix(word, "groupMemoryBarrier"):
		return "a fence in the batch orders slots"
	case strings.HasPrefix(word, "image"), strings.HasPrefix(word, "texture"), strings.HasPrefix(word, "sampler"):
		return "there are no images; data lies in the window"
	case strings.HasPrefix(word, "atomic"):
		return "memory is reached by load, store and the atomic accessors"
	case otherTypes.MatchString(word):
		return "this type is not available; use vectors of uint, int, bool and float"
	}
	return "it is neither declared here, nor an operand, an accessor or a function of GLSL an opcode may use"
}

// badName says why a name cannot be an operand's or a variable's, empty if it can.
func badName(name string) string {
	if _, taken := Accessors[name]; taken {
		return "it is an accessor"
	}
	switch {
	case !isPlainName(name):
		return "names are a to z, 0 to 9 and single _, at most 32 characters, and begin with a letter"
	case strings.HasPrefix(name, "gl_"), strings.HasPrefix(name, reservedPrefix):
		return "names that begin with gl_ or " + reservedPrefix + " belong to the kernel"
	case types[name], functions[name]:
		return "it is a type or function of GLSL"
	case reserved[name], otherTypes.MatchString(name):
		return "GLSL keeps this word for itself"
	}
	return ""
}

// isPlainName reports whether a name cannot be a macro of the kernel, whose
// names are upper-case, nor one that GLSL reserves, which have two underscores.
func isPlainName(name string) bool {
	if name == "" || len(name) > 32 || name[0] < 'a' || name[0] > 'z' || strings.Contains(name, "__") {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !(c >= 'a' && c <= 'z' || isDigit(c) || c == '_') {
			return false
		}
	}
	return true
}
