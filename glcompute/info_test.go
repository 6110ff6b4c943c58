package glcompute

import (
	"strings"
	"testing"
)

func TestDriverWithoutLimitsIsRefused(t *testing.T) {
	whole := Limits{
		WorkgroupSize: [3]uint32{1024, 1024, 64}, WorkgroupCount: [3]uint32{65535, 65535, 65535},
		WorkgroupInvocations: 1024, StorageBlockSize: 1 << 27,
	}
	if err := whole.usable(); err != nil {
		t.Errorf("%+v: %v", whole, err)
	}
	for name, spoil := range map[string]func(*Limits){
		"size":        func(l *Limits) { l.WorkgroupSize[0] = 0 },
		"count":       func(l *Limits) { l.WorkgroupCount[0] = 0 },
		"invocations": func(l *Limits) { l.WorkgroupInvocations = 0 },
		"blocks":      func(l *Limits) { l.StorageBlockSize = -1 },
	} {
		l := whole
		spoil(&l)
		if err := l.usable(); err == nil || !strings.Contains(err.Error(), "the driver reports no usable limits") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}
