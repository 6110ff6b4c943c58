package megakernel

import "sync"

// maxIdentities bounds the identities that are remembered; a queue's hot
// opcodes, and with them its fused kernels, may change again and again.
const maxIdentities = 256

// Identities names the programs that kernels are built from. Width and chunk
// are constants of a kernel's source, so its fingerprint says them too; the
// identity is that of the same source at one fixed geometry, and what was
// measured at one geometry can be held against another. The methods may be
// called from any goroutine.
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

// Of is the identity of a kernel, BLAKE3-256.
func (n *Identities) Of(k Kernel) [32]byte {
	const width = 64
	k.Width = width
	if k.Kind == Fused {
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
