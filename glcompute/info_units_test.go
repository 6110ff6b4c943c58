package glcompute

import (
	"math"
	"testing"
)

func TestUnitsOfAGPUAreWhatTheExtensionTells(t *testing.T) {
	for _, test := range []struct {
		count, warps, warp uint32
		want               Units
	}{
		{132, 64, 32, Units{132, 2048, threadGroup}},
		{0, 64, 32, Units{}}, // a driver that does not know the name leaves 0
		{132, 0, 32, Units{}},
		{132, 64, 0, Units{}},
		{math.MaxUint32, 64, 32, Units{}}, // -1
		{132, math.MaxUint32, 32, Units{}},
		{132, 64, math.MaxUint32, Units{}},
		{132, 1 << 16, 1 << 16, Units{}}, // their product is 0 in 32 bits
	} {
		if got := unitsOfWarps(test.count, test.warps, test.warp); got != test.want {
			t.Errorf("%d, %d, %d: %+v, want %+v", test.count, test.warps, test.warp, got, test.want)
		}
	}
}

func TestUnitsOfASoftwareRendererAreItsThreads(t *testing.T) {
	const llvmpipe = "llvmpipe (LLVM 15.0.6, 256 bits)"
	for name, test := range map[string]struct {
		renderer     string
		threads      []string
		count, lanes uint32
	}{
		"two threads":                    {llvmpipe, []string{"ringmaster", "llvmpipe-0", "ringmaster", "llvmpipe-1"}, 2, 8},
		"two screens with as many":       {llvmpipe, []string{"llvmpipe-1", "llvmpipe-0", "llvmpipe-0", "llvmpipe-1"}, 2, 8},
		"sixteen threads, other vectors": {"llvmpipe (LLVM 19.1.0, 512 bits)", []string{"llvmpipe-15", "llvmpipe-3"}, 16, 16},
		"LP_NUM_THREADS=0":               {llvmpipe, []string{"ringmaster"}, 1, 8},
		"another renderer":               {"softpipe", nil, 1, 4},
		"names that only look like it":   {llvmpipe, []string{"llvmpipe-", "llvmpipe-x", "my-llvmpipe-7", "llvmpipe-99999999999"}, 1, 8},
		"a vector that is none":          {"llvmpipe (LLVM 15.0.6, 0 bits)", nil, 1, 4},
	} {
		got := softwareUnits(test.renderer, test.threads)
		if got.Count != test.count || got.Lanes != test.lanes || got.Source == "" {
			t.Errorf("%s: %+v, want %d of %d", name, got, test.count, test.lanes)
		}
	}
}
