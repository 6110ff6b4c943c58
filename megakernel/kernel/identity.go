package kernel

import (
	"strconv"
	"strings"
	"sync"
)

// maxIdentities bounds the identities that are remembered; a queue's hot
// opcodes, and with them its fused kernels, may change again and again.
const maxIdentities = 256

// Identities names the programs that kernels are built from. Width and chunk are
// constants in a kernel's source, so its fingerprint depends on them. The identity is
// the fingerprint of the same source at one fixed geometry, so that measurements at
// different geometries can be compared. The methods may be called from any goroutine.
type Identities struct {
	catalog *Catalog
	mu      sync.Mutex
	known   map[Kernel][32]byte
}

// NewIdentities names the kernels of a catalog; nil means the built-in opcodes.
func NewIdentities(c *Catalog) *Identities {
	if c == nil {
		c = BuiltIn()
	}
	return &Identities{catalog: c, known: make(map[Kernel][32]byte)}
}

// Of is the identity of a kernel, BLAKE3-256. An exact kernel has that of the fused
// one, because measurements of either speak of both.
func (n *Identities) Of(k Kernel) [32]byte {
	const width = 64
	k.Width = width
	if k = k.General(); k.Kind == Fused {
		k.Chunk = width
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.known[k]
	if !ok {
		if len(n.known) >= maxIdentities {
			clear(n.known)
		}
		id = Fingerprint(n.catalog.Source(k))
		n.known[k] = id
	}
	return id
}

// ParseKernel is the inverse of Kernel.String, false for any other text.
func ParseKernel(name string) (k Kernel, ok bool) {
	parts := strings.Split(name, "-")
	number := func(i, base, bits int) (n uint64) {
		n, err := strconv.ParseUint(parts[i], base, bits)
		ok = ok && err == nil
		return n
	}
	ok = true
	kinds := map[string]KernelKind{}
	for _, kind := range [...]KernelKind{Interpreter, Fused, Lease, Exact} {
		kinds[kind.String()] = kind
	}
	kind, known := kinds[parts[0]]
	switch {
	case !known || len(parts) < 2:
		return Kernel{}, false
	case kind == Fused || kind == Exact:
		if len(parts) != 4 {
			return Kernel{}, false
		}
		k = Kernel{Kind: kind, Width: uint32(number(1, 10, 32)), Chunk: uint32(number(2, 10, 32)), Hot: OpcodeSet(number(3, 16, 64))}
	case len(parts) == 2:
		k = Kernel{Kind: kind, Width: uint32(number(1, 10, 32))}
	default:
		return Kernel{}, false
	}
	return k, ok && k.String() == name
}
