package policy

import "math/bits"

// Lower returns the smaller of each limit and the one in by, where by gives it (0: not
// given). A queue may lower the limits of its worker's device, never raise them, so a
// limit that the worker does not know stays unknown. A queue cannot change the
// subgroup size, which is a property of the device.
func (l Limits) Lower(by Limits) Limits {
	l.MaxWorkgroupSizeX = lower(l.MaxWorkgroupSizeX, by.MaxWorkgroupSizeX)
	l.MaxWorkgroupsPerDimension = lower(l.MaxWorkgroupsPerDimension, by.MaxWorkgroupsPerDimension)
	l.MaxInvocationsPerWorkgroup = lower(l.MaxInvocationsPerWorkgroup, by.MaxInvocationsPerWorkgroup)
	return l
}

func lower(limit, by uint32) uint32 {
	if by == 0 {
		return limit
	}
	return min(limit, by)
}

// MaxWidth is the widest workgroup along x that the limits allow.
func (l *Limits) MaxWidth() uint32 {
	return min(l.MaxWorkgroupSizeX, l.MaxInvocationsPerWorkgroup)
}

// check reports the first limit that is zero.
func (l *Limits) check() error {
	switch {
	case l.MaxWorkgroupSizeX == 0:
		return ErrZeroWorkgroupSize
	case l.MaxWorkgroupsPerDimension == 0:
		return ErrZeroWorkgroups
	case l.MaxInvocationsPerWorkgroup == 0:
		return ErrZeroInvocations
	}
	return nil
}

// Subgroup is the device's subgroup size, or the default where the device
// gives none. A size of 1 or one that is no power of two is not a subgroup
// any hardware has and counts as not given.
func (s *Sizing) Subgroup(l *Limits) uint32 {
	if g := l.SubgroupSize; g >= 2 && g&(g-1) == 0 {
		return g
	}
	return s.DefaultSubgroup
}

// DefaultWidth is the workgroup width without a tuner: the largest multiple
// of the subgroup size that MaxDefaultWidth and the limits allow. Where they
// do not allow a single subgroup it is the largest power of two they allow.
// The limits must not be zero.
func (s *Sizing) DefaultWidth(l *Limits) uint32 {
	most := min(l.MaxWidth(), s.MaxDefaultWidth)
	if g := s.Subgroup(l); most >= g {
		return most &^ (g - 1) // g is a power of two
	}
	return 1 << (bits.Len32(most) - 1)
}

// Width is the width that a launch gets: the tuner's, if the limits allow it and it is
// a power of two or a multiple of the subgroup size, else DefaultWidth. The limits must
// not be zero.
func (s *Sizing) Width(l *Limits, tuned uint32) uint32 {
	whole := tuned&(tuned-1) == 0 || tuned&(s.Subgroup(l)-1) == 0
	if tuned != 0 && tuned <= l.MaxWidth() && whole {
		return tuned
	}
	return s.DefaultWidth(l)
}
