package gpu

import "testing"

// described is a device by its description alone.
type described struct {
	Caller
	renderer string
	software bool
	has      map[string]bool
	blocks   uint32
}

func (d described) Identity() (vendor, renderer, version string)          { return "maker", d.renderer, "4.6" }
func (d described) Software() bool                                        { return d.software }
func (d described) WorkgroupLimits() (sizeX, groupsX, invocations uint32) { return 1024, 65535, 512 }
func (d described) StorageBlockLimit() int64                              { return 1 << 27 }
func (d described) StorageBlocks() uint32                                 { return d.blocks }
func (d described) Supports(name string) bool                             { return d.has[name] }

func TestTraitsFollowWhatTheDriverSaysAndNotItsName(t *testing.T) {
	for name, test := range map[string]struct {
		dev  described
		want Traits
	}{
		"GPU without subgroups": {
			described{renderer: "NVIDIA of old", blocks: 8, has: map[string]bool{"timestamp": true}},
			Traits{Renderer: "NVIDIA of old", Timestamps: true, StorageBlocks: 8},
		},
		"GPU with subgroups": {
			described{renderer: "some GPU", blocks: 96, has: map[string]bool{"subgroups": true, "buffer-storage": true, "program-binary": true}},
			Traits{Renderer: "some GPU", Subgroups: true, Mapped: true, Binaries: true, StorageBlocks: 96},
		},
		"software renderer with subgroups": {
			described{renderer: "some rasteriser", software: true, blocks: 16, has: map[string]bool{"subgroups": true}},
			Traits{Renderer: "some rasteriser", Software: true, StorageBlocks: 16},
		},
	} {
		test.want.Vendor, test.want.Version = "maker", "4.6"
		test.want.StorageBlockBytes = 1 << 27
		test.want.MaxWidth, test.want.MaxGroups, test.want.MaxInvocations = 1024, 65535, 512
		if got := TraitsOf(test.dev); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}
