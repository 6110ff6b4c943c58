//go:build cgo

package frontier

import (
	"fmt"
	"os"
	"testing"

	"ringmaster/megakernel/graph"
)

func TestImbalance(t *testing.T) {
	if os.Getenv("IMB") == "" {
		t.Skip()
	}
	k := newKernels(t)
	r := load(t, k, "kronecker:20")
	g := r.pair.Out
	lv := graph.BFS(g, 739608)
	for L := uint32(2); L <= 4; L++ {
		words := make([]uint32, g.Nodes()/32)
		slots := make([]uint32, g.Nodes()/32)
		for v := range uint32(g.Nodes()) {
			if lv[v] <= L || g.Degree(v) == 0 || g.Degree(v) >= narrowBlock {
				continue
			}
			n := uint32(0)
			for e := g.Offsets[v]; e < g.Offsets[v+1]; e++ {
				n++
				if lv[g.Targets[e]] == L {
					break
				}
			}
			words[v/32] += n
			slots[v/32]++
		}
		for _, per := range []int{1, 2, 4, 8} {
			var sum, maxes uint64
			for i := 0; i < len(words); i += 8 * per {
				m := uint32(0)
				for l := range 8 {
					s := uint32(0)
					for p := range per {
						s += words[i+p*8+l]
					}
					m = max(m, s)
					sum += uint64(s)
				}
				maxes += uint64(m)
			}
			fmt.Printf("level %d per %d: mean %d iterations, max %d\n", L, per, sum/8, maxes)
		}
	}
}
