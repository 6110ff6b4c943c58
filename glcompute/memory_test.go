package glcompute

import "testing"

func TestMemoryIsWhatTheDriversExtensionTells(t *testing.T) {
	for name, c := range map[string]struct {
		ext        map[string]bool
		total, nvx int32 // KiB
		ati        int32
		want       Memory
		known      bool
		text       string
	}{
		"none": {map[string]bool{"GL_ARB_shader_ballot": true}, 8, 8, 8, Memory{}, false, ""},
		"nvx, 141 GiB": {map[string]bool{nvxMemory: true}, 147_220_480, 146_800_640, 0,
			Memory{150_753_771_520, 150_323_855_360, nvxMemory}, true, "143360 of 143770 MiB free (GL_NVX_gpu_memory_info)"},
		"nvx, all of it taken":          {map[string]bool{nvxMemory: true}, 2048, 0, 0, Memory{2 << 20, 0, nvxMemory}, true, "0 of 2 MiB free (GL_NVX_gpu_memory_info)"},
		"ati":                           {map[string]bool{atiMemory: true}, 0, 0, 4096, Memory{0, 4 << 20, atiMemory}, true, "4 MiB free (GL_ATI_meminfo)"},
		"both":                          {map[string]bool{nvxMemory: true, atiMemory: true}, 2048, 1024, 4096, Memory{2 << 20, 1 << 20, nvxMemory}, true, "1 of 2 MiB free (GL_NVX_gpu_memory_info)"},
		"nvx without memory of its own": {map[string]bool{nvxMemory: true, atiMemory: true}, 0, 0, 4096, Memory{0, 4 << 20, atiMemory}, true, "4 MiB free (GL_ATI_meminfo)"},
		"zeros":                         {map[string]bool{nvxMemory: true, atiMemory: true}, 0, 0, 0, Memory{}, false, ""},
		"more free than there is":       {map[string]bool{nvxMemory: true}, 1024, 2048, 0, Memory{}, false, ""},
		"less than nothing":             {map[string]bool{nvxMemory: true, atiMemory: true}, 1024, -1, -1, Memory{}, false, ""},
	} {
		got, known := memoryOf(c.ext, func() (int32, int32) { return c.total, c.nvx }, func() int32 { return c.ati })
		if got != c.want || known != c.known || known && got.String() != c.text {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, known, c.want, c.known)
		}
	}
}
