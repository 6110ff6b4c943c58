package live

import "math"

// account weighs what looks cost against what they may bring. Times are nanoseconds on
// the device.
//
// A look is made only if it is paid for: what it is feared to lose and what was lost so
// far are together at most lostShare of used. And only if it pays: its expected gain, for
// as much time again as was used, exceeds its expected loss. Nobody knows how long a queue
// lives; one that lived for a while lives as long again in the median (Gott's rule), so a
// short one never looks.
type account struct {
	used float64 // time of launches for which users waited
	lost float64 // time that looks took beyond what the incumbent would have
}

// left is what a look may lose, below 0 after one that was worse than feared.
func (a *account) left() float64 { return lostShare*a.used - a.lost }

// anew is the account after a change: what was earned is forgotten, what is owed is not.
func (a *account) anew() account { return account{lost: math.Max(-a.left(), 0)} }

// excess is the expected value of max(0, exp(d)-1) for a normal d: by how much longer a
// look is expected to take than the incumbent, as a part of its time.
func excess(mean, sd float64) float64 {
	if sd < 1e-9 {
		return math.Max(math.Expm1(math.Min(mean, worstRatio)), 0)
	}
	normal := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	e := math.Exp(mean+sd*sd/2)*normal(mean/sd+sd) - normal(mean/sd)
	return math.Max(math.Min(e, math.Expm1(worstRatio)), 0)
}

// feared is by how much longer a look may take if it turns out badly.
func feared(mean, sd float64) float64 {
	return math.Max(math.Expm1(math.Min(mean+fearful*sd, worstRatio)), 0)
}
