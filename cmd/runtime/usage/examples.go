package usage

// Examples are one or two command lines for each command, by its path: what a shell takes, from its PATH.
var Examples = map[string][]string{
	"run": {
		"ringmaster run --decide-only",
		"ringmaster run --nats nats://host:4222 --worker gpu0 --http 127.0.0.1:8420",
	},
	"publish": {
		`echo '{"kind":"queue","queue_len":70000}' | ringmaster publish --worker gpu0 --queue q1`,
		"ringmaster publish --worker gpu0 --work --speed 10",
	},
	"adapt fpm": {"ringmaster adapt fpm gpu0=tcp://127.0.0.1:20380 gpu1=tcp://127.0.0.1:20381"},
	"demo":      {"ringmaster demo", "ringmaster demo --limit 5m --compare 0"},
	"watch": {
		"ringmaster watch --worker gpu0",
		"ringmaster watch --queue q1 --json --count 1",
	},
	"top":     {"ringmaster top", "ringmaster top --plain --worker gpu0"},
	"explain": {"ringmaster explain gpu0.q1", "ringmaster explain gpu0.q1 --watch"},
	"replay": {
		"ringmaster replay decisions.log",
		"ringmaster replay decisions.log --explain 13 --queue q1",
	},
	"shadow report": {"ringmaster shadow report --nats nats://host:4222"},
	"audit":         {"ringmaster audit --nats nats://host:4222"},
	"submit": {
		"ringmaster submit --worker gpu0 --queue q1 --slots 'add a0=2 a1=0..65536/1' --results",
		"ringmaster submit --worker gpu0 --queue q1 --slots-file slots.txt --batch nightly-1 --no-wait",
	},
	"cancel":        {"ringmaster cancel --worker gpu0 --queue q1 nightly-1"},
	"work list":     {"ringmaster work list --worker gpu0"},
	"work show":     {"ringmaster work show 3"},
	"work run":      {"ringmaster work run 3 4"},
	"work purge":    {"ringmaster work purge --worker gpu0 --queue q1"},
	"heap upload":   {"ringmaster heap upload --worker gpu0 --queue q1 0:words.txt:u32"},
	"heap download": {"ringmaster heap download --worker gpu0 --queue q1 1120:32"},
	"graph run": {
		"ringmaster graph run bfs --source 0 --verify roads.el",
		"ringmaster graph run bfs roads --source 0 --worker gpu0 --queue walks",
	},
	"graph load":        {"ringmaster graph load roads roads.el --worker gpu0 --queue walks"},
	"graph list":        {"ringmaster graph list --worker gpu0 --queue walks"},
	"graph drop":        {"ringmaster graph drop roads --worker gpu0 --queue walks"},
	"graph convert":     {"ringmaster graph convert roads.el --out roads.bin"},
	"exec":              {"ringmaster exec --slots 'add a0=2 a1=0..1000/1' --verify"},
	"tune":              {"ringmaster tune --workload skewed-64k"},
	"opcodes check":     {"ringmaster opcodes check docs/opcodes"},
	"opcodes accessors": {"ringmaster opcodes accessors"},
	"kernel list":       {"ringmaster kernel list"},
	"kernel print":      {"ringmaster kernel print interpreter"},
	"doctor":            {"ringmaster doctor", "ringmaster doctor --decide-only --nats nats://host:4222"},
	"config check":      {"ringmaster config check /etc/ringmaster/config.toml"},
	"config show":       {"ringmaster config show --set"},
	"config diff":       {"ringmaster config diff old.toml new.toml"},
	"auth template":     {"ringmaster auth template --worker gpu0 --worker gpu1 --queue q1"},
	"auth check":        {"ringmaster auth check --account submitter --worker gpu0 --queue q1 --nats nats://host:4222"},
	"version":           {"ringmaster version"},
}
