package main

import (
	"os"
	"strings"
	"testing"
)

func TestKernelPrintShowsTheCommittedSource(t *testing.T) {
	list := ringmaster(t, t.Context(), "", "kernel", "list")
	for _, name := range []string{"interpreter-64", "fused-64-256-e", "lease-64"} {
		if !strings.Contains(list.stdout, name+"\n") {
			t.Errorf("kernel list has no %s:\n%s", name, list.stdout)
		}
		want, err := os.ReadFile("../../megakernel/kernel/generated/" + name + ".comp")
		if err != nil {
			t.Fatal(err)
		}
		if got := ringmaster(t, t.Context(), "", "kernel", "print", name); got.code != 0 || got.stdout != string(want) {
			t.Errorf("kernel print %s: exit code %d, %d bytes, %s", name, got.code, len(got.stdout), got.err)
		}
	}
	want, err := os.ReadFile("../../megakernel/frontier/generated/bfs-level-256.comp")
	if err != nil {
		t.Fatal(err)
	}
	if got := ringmaster(t, t.Context(), "", "kernel", "print", "bfs-level-256"); got.code != 0 || got.stdout != string(want) || !strings.Contains(list.stdout, "bfs-level-256\n") {
		t.Errorf("kernel print bfs-level-256: exit code %d, %d bytes, %s", got.code, len(got.stdout), got.err)
	}
	for name, reason := range map[string]string{"interpreter": "there is no kernel", "fused-64-256-10000": "no opcode 16"} {
		if got := ringmaster(t, t.Context(), "", "kernel", "print", name); got.code != 1 || !strings.Contains(got.err, reason) {
			t.Errorf("kernel print %s: exit code %d, %s", name, got.code, got.err)
		}
	}
}
