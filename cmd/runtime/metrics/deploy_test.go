package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/worker"
)

// deployed is where what operators copy lies.
const deployed = "../../../deploy"

// promtool runs Prometheus's own checker; .ci/packages test brings one along.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		if path, err = filepath.Abs("../../../bin/promtool"); err != nil {
			t.Fatal(err)
		}
	}
	check := exec.Command(path, args...)
	check.Stdin = strings.NewReader(stdin)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool %v: %v\n%s\n(.ci/packages test brings promtool)", args, err, out)
	}
}

// wantKnown checks that an expression asks for series that there are.
func wantKnown(t *testing.T, known, expr string) {
	t.Helper()
	for _, name := range regexp.MustCompile(`ringmaster_[a-z_]+`).FindAllString(expr, -1) {
		if !strings.Contains(known, "\n"+name+" ") && !strings.Contains(known, "\n"+name+"{") {
			t.Errorf("nobody serves %s, which is asked for by %s", name, expr)
		}
	}
}

func TestAlertRulesFireWhenTheyShould(t *testing.T) {
	rules := filepath.Join(deployed, "prometheus/ringmaster.rules.yml")
	promtool(t, "", "check", "rules", rules)
	promtool(t, "", "test", "rules", filepath.Join(deployed, "prometheus/ringmaster.test.yml"))
	known := scrape(t, metricsOf(1, func() worker.Reading { return busy(3) }))
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if expr, is := strings.CutPrefix(strings.TrimSpace(line), "expr: "); is {
			wantKnown(t, known, expr)
		}
	}
}

func TestTheDashboardAsksForWhatThereIs(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deployed, "grafana/ringmaster.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	known := scrape(t, metricsOf(1, func() worker.Reading { return busy(3) }))
	var rules strings.Builder
	fmt.Fprintln(&rules, "groups:\n  - name: dashboard\n    rules:")
	n := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			n++
			wantKnown(t, known, target.Expr)
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(target.Expr)
			fmt.Fprintf(&rules, "      - record: panel:%d\n        expr: '%s'\n", n, expr)
		}
	}
	if n < 20 {
		t.Errorf("%d queries", n)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "", "check", "rules", file)
}

func TestTheManualNamesMetricsThatThereAre(t *testing.T) {
	text, err := os.ReadFile("../../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	known := scrape(t, metricsOf(1, func() worker.Reading { return busy(3) }))
	names := regexp.MustCompile("`(ringmaster_[a-z_]+)`").FindAllStringSubmatch(string(text), -1)
	for _, name := range names {
		if !strings.Contains(known, "\n# TYPE "+name[1]+" ") {
			t.Errorf("nobody serves %s, which docs/operating.md names", name[1])
		}
	}
	if len(names) < 10 {
		t.Errorf("%d names", len(names))
	}
}
