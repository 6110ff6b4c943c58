package megakernel

import (
	"embed"
	"fmt"
	"strings"

	"github.com/zeebo/blake3"

	"ringmaster/ring"
)

//go:embed shaders
var shaders embed.FS

// Source is the interpreter kernel for a workgroup width, as it is compiled.
func Source(width uint32) string {
	return assemble(width, "execute.glsl", "interpreter.comp")
}

// assemble joins the version, the width, what the host's constants say, and
// shader files, in the order in which GLSL needs them.
func assemble(width uint32, files ...string) string {
	var b strings.Builder
	b.WriteString("#version 430 core\n")
	fmt.Fprintf(&b, "#define WIDTH %d\n", width)
	b.WriteString(ring.Prelude())
	b.WriteString(opcodePrelude())
	b.WriteString(waveUniforms())
	for _, name := range files {
		text, err := shaders.ReadFile("shaders/" + name)
		if err != nil {
			panic("megakernel: shader " + name + " is not embedded")
		}
		b.WriteByte('\n')
		b.Write(text)
	}
	return b.String()
}

// Fingerprint is the BLAKE3-256 of a kernel source.
func Fingerprint(source string) [32]byte { return blake3.Sum256([]byte(source)) }
