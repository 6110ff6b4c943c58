package telemetry

import (
	stdflag "flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

var mutations = stdflag.Int("mutations", 5_000, "damaged payloads of each TestMutations")

// mutator damages payloads of the corpus, the same ones in every run.
type mutator struct {
	*rand.Rand
	corpus [][]byte
	buf    []byte
}

func newMutator(t testing.TB, seed uint64) *mutator {
	m := &mutator{Rand: rand.New(rand.NewPCG(seed, 1))}
	corpus := hostileCorpus(t)
	for _, name := range slices.Sorted(maps.Keys(corpus)) {
		if payload := corpus[name]; len(payload) > 0 && len(payload) < 1<<10 {
			m.corpus = append(m.corpus, payload)
		}
	}
	for _, l := range literals {
		m.corpus = append(m.corpus, literal(t, l.mapRow), literal(t, l.arrayRow))
	}
	for turn := range 4 {
		m.corpus = append(m.corpus, manyQueues(1+turn, 300*turn))
	}
	return m
}

// next returns a payload that is valid until the next call.
func (m *mutator) next() []byte {
	m.buf = append(m.buf[:0], m.pick()...)
	for range m.IntN(4) {
		if len(m.buf) == 0 {
			break
		}
		at := m.IntN(len(m.buf))
		to := at + m.IntN(min(len(m.buf)-at, 9)+1)
		switch m.IntN(6) {
		case 0:
			m.buf[at] = byte(m.Uint32())
		case 1:
			m.buf[at] ^= 1 << m.IntN(8)
		case 2:
			m.buf[at] = byte(codeFixStr + m.IntN(codeNegFixMin-codeFixStr)) // a code of its own
		case 3:
			m.buf = slices.Delete(m.buf, at, to)
		case 4:
			m.buf = slices.Insert(m.buf, at, slices.Clone(m.buf[at:to])...)
		case 5:
			other := m.pick()
			m.buf = append(m.buf[:at], other[m.IntN(len(other)):]...)
		}
	}
	return m.buf
}

func (m *mutator) pick() []byte { return m.corpus[m.IntN(len(m.corpus))] }

// TestMutations holds damaged payloads to what the fuzz targets of the same
// names do, without a guide but a hundred times as fast.
func TestMutations(t *testing.T) {
	for seed, target := range []struct {
		name string
		hold func(t testing.TB, payload []byte)
	}{
		{"FuzzCheck", compareCheck},
		{"FuzzCheckDecode", checkDecode},
	} {
		t.Run(target.name, func(t *testing.T) {
			m := newMutator(t, uint64(seed))
			for range *mutations {
				target.hold(t, m.next())
			}
			t.Logf("%d executions", *mutations)
		})
	}
}

// manyQueues is a payload of records that each carry everything.
func manyQueues(n, turn int) []byte {
	var payload []byte
	for i := range n {
		h := Header{Incarnation: 0x1234567890abcdef, Seq: uint64(1 + turn), SentNs: 1_700_000_000_000_000_000, Queue: fmt.Sprint("q", i)}
		q := fullQueue()
		q.QueueLen = uint32(300*i + turn)
		payload = Append(payload, EncodingArray, h, &q)
	}
	return payload
}
