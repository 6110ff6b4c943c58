package policy

import "math"

// Sibling is a queue among those of its worker, as the spreading of priorities sees it.
type Sibling struct {
	Priority    float64 // as given, 0..1e9
	Coefficient float64 // how freely it shares, 0..1; below minCoefficient it is isolated
	Spread      float64 // what turns have made of Priority, which it begins with
}

const (
	minCoefficient = 1e-9
	// diffusionEta is the step of a turn: half of the largest that turns no difference round.
	diffusionEta = 0.5
	// stillMoves is the share of a priority below which a turn has not moved it.
	stillMoves = 1e-9
)

// Diffuse spreads the priorities of siblings that all see each other by one turn, and says
// whether that has moved any. It goes on from launch to launch: what the turn before has left
// is drawn half way back to the priority, and spread. While priorities stay as they are, turns
// converge to values that keep their sum and lie between them and their mean.
//
// The weight between siblings i and j is r[i]*r[j], with r the coefficients: 1 shares freely.
// With L the weighted graph Laplacian, x becomes
//
//	x - eta * L * x / d
//
// with d the largest coefficient times the sum of all, which no eigenvalue of L exceeds: below
// eta = 1 no difference is wiped out or turned round, so two siblings keep their order. (The
// largest weighted degree, which vyre divides by, makes 50 and 50 of 10 and 90 at eta = 1/2.)
// The sum is kept (up to rounding), no value leaves the range of those that share, and who is
// isolated has what it was given.
//
// With S the sum of r and T the sum of r*x, row i of L*x is r[i]*(S*x[i] - T): a turn is O(n)
// although all pairs are coupled.
func Diffuse(siblings []Sibling) (moves bool) {
	sum, weighted, largest := 0.0, 0.0, 0.0
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range siblings {
		if s := &siblings[i]; s.shares() {
			x, w := s.drawnBack(), s.Coefficient
			sum, weighted, largest = sum+w, weighted+float64(w*x), max(largest, w)
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	for i := range siblings {
		s := &siblings[i]
		next := s.Priority
		if s.shares() {
			// The conversions keep the compiler from fusing, so that the result is the same on
			// every machine. The range is exact in real numbers; clamping keeps it so.
			x := s.drawnBack()
			next = x - float64(diffusionEta/(largest*sum)*s.Coefficient*(float64(sum*x)-weighted))
			next = min(max(next, lo), hi)
		}
		moves = moves || math.Abs(next-s.Spread) > stillMoves*math.Abs(next)
		s.Spread = next
	}
	return moves
}

func (s *Sibling) shares() bool { return s.Coefficient >= minCoefficient }

// drawnBack is where a turn begins.
func (s *Sibling) drawnBack() float64 { return s.Spread/2 + s.Priority/2 }
