//go:build cgo

package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/policy"
)

// decideSource runs the director's rule over questions: frontier nodes, frontier edges, unexplored edges and the previous
// topology. It leaves the topologies before and after hysteresis in the last two words of each.
const decideSource = `
struct Question { uint nodes, edges, unexplored, previous, raw, topology; };
layout(std430, binding = 12) buffer Questions { Question questions[]; };
void main() {
    job = control_job;
    Question q = questions[gl_GlobalInvocationID.x];
    uvec2 rule = decide(q.nodes, q.edges, q.unexplored, q.previous);
    questions[gl_GlobalInvocationID.x].raw = rule.x;
    questions[gl_GlobalInvocationID.x].topology = rule.y;
}
`

// The device's copy of the rule decides what the policy decides, for any graph, level and previous topology, above all near
// the thresholds.
func TestDeviceDecidesWhatThePolicyDecides(t *testing.T) {
	k := newKernels(t)
	rng := rand.New(rand.NewPCG(11, 12))
	const words, levels = 6, 256
	var program gpu.Program
	err := k.dev.Do(func() (err error) {
		source, err := shaders.ReadFile("shaders/decide.glsl")
		if err == nil {
			program, err = k.dev.CompileCompute(kernel{kind: kindBegin, width: 64}.assemble([]string{"control.glsl"}, string(source)+decideSource))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := k.dev.Do(func() error { k.dev.DeleteProgram(program); return nil }); err != nil {
			t.Error(err)
		}
	}()
	for range 200 {
		cfg := policy.Standard()
		if rng.IntN(2) == 0 {
			cfg = policy.Reference()
		}
		cfg.FusionEdgeThreshold = []uint32{1, cfg.FusionEdgeThreshold}[rng.IntN(2)]
		s := Situation{Nodes: 1 + rng.Uint32()>>rng.IntN(32), Edges: rng.Uint32() >> rng.IntN(32), HotOpcodes: []uint32{0, 6, 8}[rng.IntN(3)],
			MemoryPressureBps: []uint16{0, 8_249, 8_250, 8_499, 8_500}[rng.IntN(5)], PressureKnown: true}
		limits, err := newThresholds(&cfg, &s)
		if err != nil {
			t.Fatal(err)
		}
		near := func(most uint32, marks ...uint32) uint32 {
			mark := append(marks, rng.Uint32(), most)[rng.IntN(len(marks)+2)]
			return uint32(min(max(int64(min(mark, most))+int64(rng.IntN(5))-2, 0), int64(most)))
		}
		var control controlBlock
		control.job.Thresholds = limits
		questions := make([]uint32, words*levels)
		for i := 0; i < len(questions); i += words {
			unexplored := near(s.Edges)
			root := uint32(0) // where the square of the work is what a pull looks at
			for bit := uint32(1) << 31; bit > 0; bit >>= 1 {
				if uint64(root|bit)*uint64(root|bit) <= uint64(limits.PullNodes)*uint64(unexplored) {
					root |= bit
				}
			}
			questions[i] = max(near(s.Nodes, limits.SparseMost, limits.HybridMost, limits.SparseKeep, limits.HybridLow, limits.HybridHigh, limits.DenseKeep), 1)
			questions[i+1] = near(s.Edges, limits.SparseWork, limits.RiseWork, unexplored, root)
			questions[i+2], questions[i+3] = unexplored, rng.Uint32N(uint32(policy.TopologyMemoryConstrained)+1)
			if questions[i+3] == uint32(policy.TopologyEmpty) {
				questions[i+3] = uint32(policy.TopologyNone)
			}
		}
		if err := answer(k.dev, program, &control, questions); err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(questions); i += words {
			q := questions[i:]
			v := View{Nodes: s.Nodes, Edges: s.Edges, FrontierNodes: q[0], FrontierEdges: q[1], UnexploredEdges: q[2], Previous: policy.Topology(q[3])}
			want, err := s.Classify(&cfg, &v)
			if err != nil || q[4] != uint32(want.Raw) || q[5] != uint32(want.Topology) {
				t.Fatalf("%+v of %+v: %d, then %d; the policy says %d, then %d (%v)", v, s, q[4], q[5], want.Raw, want.Topology, err)
			}
		}
	}
}

// answer runs a program over questions, with a job.
func answer(dev gpu.Device, program gpu.Program, control *controlBlock, questions []uint32) error {
	return dev.Do(func() error {
		const at = 12
		for binding, data := range map[uint32][]byte{bindControl: gpu.BytesAt(control), at: gpu.Bytes(questions)} {
			buffer, err := dev.NewBuffer(len(data))
			if err != nil {
				return fmt.Errorf("%d bytes: %w", len(data), err)
			}
			defer dev.DeleteBuffer(buffer)
			dev.WriteBuffer(buffer, 0, data)
			dev.BindStorage(binding, buffer, 0, len(data))
			if binding == at {
				defer func() { dev.ReadBuffer(buffer, 0, data) }()
			}
		}
		dev.Dispatch(program, uint32(len(questions)/6/64))
		dev.Barrier()
		return dev.Check()
	})
}
