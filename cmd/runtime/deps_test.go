package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "ringmaster"

// projectImports lists, for each package, which packages of the project its
// non-test code may import. A package that is missing here fails the test, so
// a new package has to state its place.
var projectImports = map[string][]string{
	"megakernel/policy":                  nil,                                                                                                                // the decision stands alone
	"ring":                               nil,                                                                                                                // the layout stands alone
	"glcompute/gltest":                   {"glcompute"},                                                                                                      // for tests: a device, or why there is none
	"glcompute":                          {"megakernel/gpu"},                                                                                                 // cgo stays a leaf behind the seam
	"telemetry":                          {"ring"},                                                                                                           // records, their encoding and the subjects; slots are the ring's
	"telemetry/complaint":                nil,                                                                                                                // what goes wrong is logged once a minute, by whoever faces records
	"telemetry/decisionlog":              {"telemetry", "megakernel/policy"},                                                                                 // what a decision was made from, as lines
	"telemetry/natsio":                   {"telemetry", "telemetry/complaint", "telemetry/natsio/ackorder", "telemetry/natsio/fairqueue", "telemetry/trace"}, // the bus knows records, not actors
	"telemetry/trace":                    {"telemetry"},                                                                                                      // what came with a trace context, until it is done
	"telemetry/access":                   {"telemetry"},                                                                                                      // who may do what on the bus, as values
	"telemetry/natsio/client":            {"telemetry", "telemetry/natsio", "telemetry/trace"},                                                               // what programs use, without the server
	"telemetry/natsio/advisory":          {"telemetry", "telemetry/complaint", "telemetry/natsio"},                                                           // events for operators
	"telemetry/natsio/configbucket":      {"telemetry", "telemetry/natsio"},                                                                                  // shared settings, as texts
	"telemetry/natsio/poison":            {"telemetry", "telemetry/natsio"},                                                                                  // batches that were set aside
	"telemetry/natsio/decided":           {"telemetry", "telemetry/complaint", "telemetry/natsio", "telemetry/trace"},                                        // the stream of decisions
	"telemetry/natsio/bustest":           {"telemetry/natsio", "telemetry/natsio/embedded", "telemetry/natsio/natstest"},                                     // for tests: a server here, and connections
	"telemetry/natsio/natstest":          nil,                                                                                                                // for tests: server processes
	"telemetry/natsio/embedded":          nil,                                                                                                                // a server, for processes that have none
	"telemetry/natsio/ackorder":          nil,                                                                                                                // when a message is acknowledged
	"telemetry/natsio/fairqueue":         nil,                                                                                                                // who is served next, for any requests
	"megakernel/tuner/space":             nil,                                                                                                                // what there is to choose from, as data
	"megakernel/tuner/gp":                nil,                                                                                                                // the models' algebra, for any candidates
	"megakernel/tuner/search":            {"megakernel/tuner/space", "megakernel/tuner/gp"},                                                                  // one search, for any space
	"megakernel/tuner/search/searchtest": {"megakernel/tuner/space"},                                                                                         // for tests: a kernel that can be searched
	"megakernel/tuner/reference":         nil,                                                                                                                // the original, alone
	"megakernel/tuner/cache":             {"megakernel/policy"},                                                                                              // what outlives the process, as a file
	"bench/natural":                      nil,                                                                                                                // integer steps of a policy, for any candidates
	"megakernel/tuner/workload":          nil,                                                                                                                // descriptions, for any catalog
	"megakernel/tuner/live": {"megakernel/policy", "megakernel/tuner/space", "megakernel/tuner/cache",
		"megakernel/tuner/gp"}, // from reports to the next geometry
	"megakernel/tuner/session": {"megakernel/policy", "megakernel/tuner/reference", "megakernel/tuner/live",
		"megakernel/tuner/cache", "ring"}, // which tuner, and what is remembered
	"megakernel/graph":             nil,                                                                                                                           // graphs, files and plain algorithms, without a device
	"megakernel/frontier":          {"megakernel/gpu", "megakernel/graph", "megakernel/kernelcache", "megakernel/policy", "megakernel/userop"},                    // graphs on a device, decided as the policy does
	"megakernel/userop":            nil,                                                                                                                           // opcode files are read without a device
	"megakernel/gpu":               nil,                                                                                                                           // the seam to OpenGL, in standard types
	"megakernel/ledger":            {"ring"},                                                                                                                      // the books: values in, values out
	"megakernel/kernel":            {"ring", "megakernel/gpu", "megakernel/policy", "megakernel/userop"},                                                          // what a slot does, without a device; the policy's geometry, which is the one there is
	"megakernel/kernel/kerneltest": {"ring"},                                                                                                                      // for tests: committed sources, packed slots
	"megakernel/lease":             {"ring", "megakernel/gpu", "megakernel/kernel"},                                                                               // small submissions on a kernel that stays
	"megakernel/fixed":             {"megakernel/policy"},                                                                                                         // what a programmer does without a decision, in its terms
	"megakernel/texttest":          nil,                                                                                                                           // for tests: rules as text files, logs
	"megakernel/memory":            {"ring", "megakernel/gpu", "megakernel/kernel"},                                                                               // the ring's buffers, and the words in them
	"megakernel/debugview":         {"ring"},                                                                                                                      // slots as a picture
	"megakernel/harness":           {"ring", "megakernel/gpu", "megakernel/kernel", "megakernel/memory", "megakernel/policy", "megakernel/program"},               // launches alone, measured
	"megakernel/program":           {"ring", "megakernel/gpu", "megakernel/kernel", "megakernel/kernelcache", "megakernel/kernelcache/disk", "megakernel/userop"}, // the ring's kernels, built
	"megakernel": {"ring", "megakernel/ledger", "megakernel/gpu", "megakernel/kernel", "megakernel/lease", "megakernel/memory", "megakernel/policy", "megakernel/program",
		"megakernel/kernelcache", "megakernel/kernelcache/disk", "megakernel/kernelcache/hotset"}, // the engine executes plans
	"bench/fixedpoint":              {"megakernel/gpu", "bench/natural"},                                                                                                                                                                                                                                                                                                   // steps of a policy, as kernels
	"megakernel/calibration":        {"megakernel/gpu"},                                                                                                                                                                                                                                                                                                                    // what a driver does not tell is measured
	"megakernel/faultgl":            {"megakernel/gpu"},                                                                                                                                                                                                                                                                                                                    // a device that fails on purpose
	"bench/edgework":                {"megakernel/policy"},                                                                                                                                                                                                                                                                                                                 // the yardstick of the topology rules, without a device
	"actors":                        {"actors/fence", "actors/order", "actors/stage", "megakernel/policy", "megakernel/tuner/session", "telemetry", "telemetry/complaint", "telemetry/decisionlog"},                                                                                                                                                                        // state and routing only
	"actors/stage":                  {"megakernel/policy"},                                                                                                                                                                                                                                                                                                                 // what is remembered between launches, as values
	"actors/order":                  {"telemetry"},                                                                                                                                                                                                                                                                                                                         // which record is newer, as values
	"actors/fence":                  nil,                                                                                                                                                                                                                                                                                                                                   // a protocol as values
	"megakernel/kernelcache":        {"megakernel/gpu", "megakernel/kernelcache/disk"},                                                                                                                                                                                                                                                                                     // programs of any kind, by a key of the caller
	"megakernel/kernelcache/hotset": {"megakernel/kernel"},                                                                                                                                                                                                                                                                                                                 // promotion is a function of values
	"megakernel/kernelcache/disk":   nil,                                                                                                                                                                                                                                                                                                                                   // files of bytes, whatever made them
	"bench/recorded":                {"megakernel/tuner/space"},                                                                                                                                                                                                                                                                                                            // recordings of spaces, as files
	"bench/classic":                 {"bench/recorded", "megakernel/tuner/gp", "megakernel/tuner/search", "megakernel/tuner/space"},                                                                                                                                                                                                                                        // yardsticks of the search
	"cmd/runtime/audit":             {"cmd/runtime/text", "telemetry/decisionlog"},                                                                                                                                                                                                                                                                                         // whether a stream of decisions is whole
	"cmd/runtime/decisions":         {"actors", "cmd/runtime/text", "megakernel/policy", "telemetry/decisionlog", "telemetry/natsio", "telemetry/natsio/decided"},                                                                                                                                                                                                          // the log of decisions, and what can be asked of one
	"cmd/runtime/graphs":            {"actors", "cmd/runtime/decisions", "cmd/runtime/text", "cmd/runtime/worker", "megakernel/frontier", "megakernel/gpu", "megakernel/graph", "megakernel/kernelcache", "megakernel/kernelcache/disk", "megakernel/policy", "megakernel/userop", "telemetry", "telemetry/decisionlog", "telemetry/natsio", "telemetry/natsio/fairqueue"}, // jobs over graphs, from plain values
	"cmd/runtime/config":            {"cmd/runtime/policyfile", "cmd/runtime/text", "megakernel/policy"},                                                                                                                                                                                                                                                                   // a file of settings
	"cmd/runtime/sharedconfig":      {"cmd/runtime/config", "cmd/runtime/option", "cmd/runtime/terminal", "cmd/runtime/text", "telemetry/complaint", "telemetry/natsio", "telemetry/natsio/configbucket"},                                                                                                                                                                  // settings that processes share
	"cmd/runtime/policyfile":        {"cmd/runtime/text", "megakernel/policy"},                                                                                                                                                                                                                                                                                             // a configuration that somebody wrote
	"cmd/runtime/adapt/zmtp":        nil,                                                                                                                                                                                                                                                                                                                                   // what a ZeroMQ publisher sends
	"cmd/runtime/adapt/fpm":         nil,                                                                                                                                                                                                                                                                                                                                   // what a message of an engine says
	"cmd/runtime/adapt":             {"cmd/runtime/adapt/fpm", "cmd/runtime/adapt/zmtp", "cmd/runtime/option", "cmd/runtime/terminal", "cmd/runtime/text", "telemetry", "telemetry/complaint", "telemetry/natsio", "telemetry/natsio/client"},
	"cmd/runtime/costs":             nil, // lines of time over slots, and intervals
	"cmd/runtime/whatif":            {"cmd/runtime/costs", "cmd/runtime/decisions", "cmd/runtime/option", "cmd/runtime/policyfile", "cmd/runtime/terminal", "cmd/runtime/text", "megakernel/policy", "telemetry/decisionlog", "telemetry/natsio"},
	"cmd/runtime/shadow":            {"cmd/runtime/chart", "cmd/runtime/costs", "cmd/runtime/option", "cmd/runtime/terminal", "cmd/runtime/text", "telemetry", "telemetry/natsio", "telemetry/natsio/client"}, // advice beside what engines did
	"cmd/runtime/text":              nil,                                                                                                                                                                      // tables and numbers for people
	"megakernel/tuner/trial": {"ring", "megakernel/harness", "megakernel/kernel", "megakernel/gpu", "megakernel/policy", "megakernel/tuner/live", "megakernel/tuner/search",
		"megakernel/tuner/session", "megakernel/tuner/space", "megakernel/tuner/workload"}, // geometries of this machine's ring, measured
	"bench": {"bench/classic", "bench/course", "bench/workpath", "cmd/runtime/demo/trace", "cmd/runtime/worker", "bench/recorded", "ring", "glcompute", "megakernel/gpu", "megakernel/kernel", "megakernel/lease", "actors", "telemetry", "telemetry/natsio", "telemetry/natsio/embedded", "megakernel", "bench/fixedpoint", "megakernel/frontier", "megakernel/harness", "megakernel/kernelcache",
		"bench/edgework", "megakernel/graph", "megakernel/calibration", "megakernel/fixed", "megakernel/policy", "megakernel/userop", "megakernel/tuner/live", "bench/natural",
		"megakernel/tuner/search", "megakernel/tuner/space", "megakernel/tuner/trial", "megakernel/tuner/workload"}, // measures what the others are
	"cmd/runtime/tuned": {"megakernel/tuner/cache", "megakernel/tuner/session", "telemetry/natsio"}, // what tuners learned: files, and a bucket
	"cmd/runtime/worker": {"cmd/runtime/schema", "telemetry/natsio/advisory", "cmd/runtime/decisions", "cmd/runtime/tuned", "cmd/runtime/text", "actors", "glcompute", "megakernel", "megakernel/kernel", "megakernel/gpu", "megakernel/kernelcache/disk", "megakernel/policy",
		"megakernel/tuner/live", "megakernel/tuner/session", "ring", "telemetry", "telemetry/complaint", "telemetry/decisionlog", "telemetry/natsio", "telemetry/natsio/decided", "telemetry/natsio/ownership", "telemetry/natsio/poison"}, // what serves, from plain values
	"cmd/runtime/demo":             {"cmd/runtime/demo/trace", "megakernel/graph", "cmd/runtime/text", "cmd/runtime/worker", "actors", "megakernel", "megakernel/fixed", "megakernel/kernel", "megakernel/policy", "ring", "telemetry", "telemetry/natsio", "telemetry/natsio/client"},                                                        // recorded load, on a worker
	"cmd/runtime/demo/trace":       {"megakernel/graph"},                                                                                                                                                                                                                                                                                      // bundled data and its mapping
	"cmd/runtime/explain":          {"cmd/runtime/fleetview", "cmd/runtime/text", "megakernel/policy", "telemetry", "telemetry/decisionlog"},                                                                                                                                                                                                  // why a plan is as it is
	"cmd/runtime/explain/ask":      {"cmd/runtime/explain", "cmd/runtime/text", "megakernel/policy", "telemetry", "telemetry/decisionlog", "telemetry/natsio", "telemetry/natsio/client", "telemetry/natsio/decided", "telemetry/natsio/poison"},                                                                                              // reads what it is made of
	"cmd/runtime/doctor":           {"cmd/runtime/fleetview", "cmd/runtime/text", "cmd/runtime/worker", "glcompute", "telemetry/natsio"},                                                                                                                                                                                                      // how a running process is
	"cmd/runtime/page":             {"cmd/runtime/chart", "cmd/runtime/explain", "cmd/runtime/fleetview", "cmd/runtime/text"},                                                                                                                                                                                                                 // the live view for a browser
	"cmd/runtime/plugin":           nil,                                                                                                                                                                                                                                                                                                       // the command line, as the nats command wants it
	"cmd/runtime/usage":            {"cmd/runtime/option", "cmd/runtime/terminal"},                                                                                                                                                                                                                                                            // the command line, told to people and shells
	"cmd/runtime/schema":           nil,                                                                                                                                                                                                                                                                                                       // JSON schemas, of any type
	"cmd/runtime/systemd":          nil,                                                                                                                                                                                                                                                                                                       // what a service manager is told
	"cmd/runtime/health":           {"cmd/runtime/worker", "telemetry/natsio"},                                                                                                                                                                                                                                                                // what keeps a node from its work, in words
	"cmd/runtime/metrics":          {"actors", "cmd/runtime/worker", "telemetry/natsio"},                                                                                                                                                                                                                                                      // a node as series of Prometheus
	"cmd/runtime/admin":            {"cmd/runtime/health"},                                                                                                                                                                                                                                                                                    // the HTTP server
	"cmd/runtime/otlp":             {"telemetry/complaint", "telemetry/trace"},                                                                                                                                                                                                                                                                // spans to a collector
	"cmd/runtime/oversight":        {"cmd/runtime/admin", "cmd/runtime/health", "cmd/runtime/metrics", "cmd/runtime/otlp", "cmd/runtime/systemd", "cmd/runtime/worker", "cmd/runtime/page", "cmd/runtime/explain", "cmd/runtime/explain/ask", "cmd/runtime/fleetview", "cmd/runtime/fleetview/listen", "telemetry/natsio", "telemetry/trace"}, // what others see of a process
	"cmd/runtime/fleetview":        {"cmd/runtime/text", "telemetry"},                                                                                                                                                                                                                                                                         // what is heard on the bus, as rows
	"cmd/runtime/fleetview/listen": {"cmd/runtime/fleetview", "telemetry", "telemetry/natsio", "telemetry/natsio/client"},                                                                                                                                                                                                                     // hears it
	"cmd/runtime/top":              {"cmd/runtime/fleetview", "cmd/runtime/text"},                                                                                                                                                                                                                                                             // rows on a terminal
	"cmd/runtime/terminal":         nil,                                                                                                                                                                                                                                                                                                       // streams, screens, signals and files of a command
	"cmd/runtime/slots":            {"cmd/runtime/text", "cmd/runtime/worker", "megakernel", "megakernel/kernel", "megakernel/userop", "ring"},                                                                                                                                                                                                // slots as people write them
	"cmd/runtime/option": {"cmd/runtime/admin", "cmd/runtime/decisions", "cmd/runtime/slots", "cmd/runtime/terminal", "cmd/runtime/text", "cmd/runtime/tuned", "cmd/runtime/worker", "glcompute", "megakernel", "megakernel/calibration",
		"megakernel/gpu", "megakernel/kernel", "megakernel/kernelcache/disk", "megakernel/lease", "megakernel/policy", "megakernel/tuner/session", "ring", "telemetry", "telemetry/natsio", "telemetry/natsio/decided", "telemetry/trace"}, // groups of flags, and what they become
	"cmd/runtime": {"cmd/runtime/chart", "cmd/runtime/sharedconfig", "telemetry/natsio/configbucket", "cmd/runtime/doctor", "cmd/runtime/health", "cmd/runtime/usage", "cmd/runtime/plugin", "cmd/runtime/config", "cmd/runtime/schema", "cmd/runtime/shadow", "cmd/runtime/whatif", "cmd/runtime/adapt", "cmd/runtime/explain", "cmd/runtime/explain/ask", "cmd/runtime/policyfile", "cmd/runtime/fleetview/listen", "cmd/runtime/top", "cmd/runtime/admin", "cmd/runtime/metrics", "cmd/runtime/oversight", "cmd/runtime/option", "cmd/runtime/slots", "cmd/runtime/terminal", "actors", "cmd/runtime/audit", "cmd/runtime/decisions", "cmd/runtime/demo", "cmd/runtime/graphs", "cmd/runtime/text", "cmd/runtime/tuned", "cmd/runtime/worker", "glcompute", "megakernel",
		"megakernel/debugview", "megakernel/calibration", "megakernel/frontier", "megakernel/gpu", "megakernel/graph", "megakernel/kernel", "megakernel/lease", "megakernel/kernelcache/disk", "megakernel/policy",
		"megakernel/tuner/cache", "megakernel/tuner/live", "megakernel/tuner/session", "megakernel/tuner/trial",
		"megakernel/tuner/workload", "megakernel/userop", "ring", "telemetry", "telemetry/decisionlog", "telemetry/access", "telemetry/natsio", "telemetry/natsio/client", "telemetry/natsio/decided", "telemetry/natsio/poison",
		"telemetry/natsio/embedded"}, // flags of all of them become their configurations

	"bench/course": {"bench/course/arrivals", "cmd/runtime/chart", "bench/course/decider", "bench/course/interval", "cmd/runtime/decisions", "cmd/runtime/demo/trace", "cmd/runtime/tuned", "cmd/runtime/whatif", "cmd/runtime/worker",
		"megakernel", "megakernel/fixed", "megakernel/kernel", "megakernel/kernelcache/disk", "megakernel/policy", "megakernel/tuner/session", "megakernel/userop", "ring", "telemetry",
		"telemetry/decisionlog", "telemetry/natsio", "telemetry/natsio/client", "telemetry/natsio/embedded"}, // the whole loop, beside others' decisions
	"bench/workpath": {"cmd/runtime/worker", "megakernel", "megakernel/kernel", "megakernel/policy", "megakernel/tuner/session", "ring",
		"telemetry", "telemetry/natsio", "telemetry/natsio/embedded"}, // the way of work, beside a bare worker
	"telemetry/natsio/ownership": {"telemetry", "telemetry/complaint", "telemetry/natsio"}, // who decides for which worker

	"bench/fleet":           {"cmd/runtime/audit", "megakernel/kernel", "ring", "telemetry", "telemetry/decisionlog", "telemetry/natsio", "telemetry/natsio/client", "telemetry/natsio/decided"}, // what faults cost a fleet
	"bench/course/arrivals": nil,                                                                                                                                                                 // schedules from a seed
	"cmd/runtime/chart":     nil,                                                                                                                                                                 // a picture from values
	"bench/course/decider":  {"megakernel/fixed", "megakernel/policy"},                                                                                                                           // rules in the policy's place, in its terms
	"bench/course/interval": nil,                                                                                                                                                                 // what pairs of figures tell
}

// externalOwners lists who may import a third-party module, and why.
var externalOwners = []struct {
	prefix string
	owners []string
	reason string
}{
	{"github.com/asynkron/protoactor-go", []string{"actors"}, "the actor library is frozen upstream and must stay replaceable"},
	{"github.com/nats-io/nkeys", []string{"cmd/runtime"}, "the command makes keys for users who ask for them"},
	{"github.com/nats-io/nats-server/", []string{"telemetry/natsio/embedded"}, "programs that only connect link no server"},
	{"github.com/nats-io/", []string{"telemetry/natsio", "telemetry/natsio/client", "telemetry/natsio/ownership", "telemetry/natsio/embedded", "bench", "bench/workpath", "telemetry/natsio/decided", "telemetry/natsio/natstest", "telemetry/natsio/poison", "telemetry/natsio/configbucket"}, "one package talks to the bus; bare NATS is a yardstick"},
	{"github.com/synadia-io/", []string{"telemetry/natsio"}, "one package talks to the bus"},
	{"github.com/vmihailenco/msgpack", []string{"telemetry", "bench"}, "one package knows the encoding; the library alone is a yardstick"},
	{"charm.land/bubbletea/", []string{"cmd/runtime/top"}, "one package draws on a terminal"},
	{"github.com/charmbracelet/x/ansi", []string{"cmd/runtime/top"}, "one package draws on a terminal"},
	{"github.com/prometheus/client_golang", []string{"cmd/runtime/metrics"}, "one package knows how a node is shown"},
	{"github.com/go-gl/", []string{"glcompute"}, "one package touches GL"},
	{"github.com/go-json-experiment/json", []string{"telemetry/decisionlog", "cmd/runtime/text"}, "logs are read by the million lines, and lists of nothing are printed as lists; Go 1.27 has it as encoding/json/v2"},
	{"github.com/pelletier/go-toml", []string{"megakernel/tuner/cache", "cmd/runtime/config", "cmd/runtime/policyfile"}, "files of people's size are TOML"},
	{"github.com/google/renameio", []string{"megakernel/calibration", "megakernel/kernelcache/disk", "megakernel/tuner/cache"}, "files that are replaced whole"},
	{"github.com/zeebo/blake3", []string{"megakernel/kernel", "megakernel/kernelcache", "megakernel/kernelcache/disk", "megakernel/tuner/reference", "megakernel/tuner/session", "cmd/runtime/tuned", "cmd/runtime/worker", "telemetry/decisionlog"}, "fingerprints"},
	{"github.com/alecthomas/kong", []string{"cmd/runtime", "cmd/runtime/plugin", "cmd/runtime/usage", "bench"}, "flags belong to commands"},
	{"golang.org/x/image/", []string{"cmd/runtime"}, "the text of the window"},
	{"golang.org/x/term", []string{"cmd/runtime/terminal"}, "terminals belong to the command"},
	{"golang.org/x/time", []string{"telemetry/natsio"}, "rate limits belong to the edge"},
	{"gonum.org/v1/gonum/", []string{"megakernel/tuner/gp", "megakernel/tuner/live", "megakernel/tuner/search", "bench/classic", "bench/course/interval"}, "the algebra of the tuner's models, and quantiles"},
	{"github.com/HdrHistogram/", []string{"cmd/runtime/demo", "bench"}, "client-side latency is the command's report"},
}

// standardBans are standard-library packages that a pure package must not use directly.
var standardBans = map[string][]string{
	"megakernel/ledger":             {"os", "net", "sync", "context", "log/slog", "math/rand", "math/rand/v2"}, // time: instants are arguments
	"megakernel/policy":             {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"megakernel/kernel":             {"os", "net", "time", "context", "log/slog", "math/rand", "math/rand/v2"}, // sync: identities are shared
	"megakernel/gpu":                {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"megakernel/kernelcache/hotset": {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"bench/course/arrivals":         {"os", "net", "sync", "context", "log/slog", "math/rand"}, // math/rand/v2: generators that a seed alone determines
	"bench/course/decider":          {"os", "net", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"bench/course/interval":         {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"cmd/runtime/chart":             {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"bench/edgework":                {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"megakernel/tuner/space":        {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"megakernel/tuner/search":       {"os", "net", "time", "sync", "context", "log/slog", "math/rand"}, // math/rand/v2: generators that a seed alone determines
	"megakernel/tuner/reference":    {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"megakernel/tuner/session":      {"os", "net", "time", "context", "log/slog", "math/rand", "math/rand/v2"}, // sync: spaces are shared by queues
	"megakernel/tuner/live":         {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"ring":                          {"os", "net", "time", "context", "log/slog", "math/rand", "math/rand/v2"},
	"actors/fence":                  {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"telemetry":                     {"os", "net", "log/slog"},
	"telemetry/access":              {"os", "net", "time", "sync", "context", "log/slog", "math/rand", "math/rand/v2"},
	"actors":                        {"os", "net"},
}

type listedPackage struct {
	ImportPath string
	Dir        string
	Imports    []string
	CgoFiles   []string
}

func rootDir(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		t.Fatalf("go list -m: %v", err)
	}
	return strings.TrimSpace(string(out))
}

func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Imports,CgoFiles", module+"/...")
	cmd.Dir = rootDir(t)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // the rules hold for every variant: list the fullest
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listedPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := dec.Decode(&p); err == io.EOF {
			return pkgs
		} else if err != nil {
			t.Fatalf("go list output: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestPackagesImportOnlyWhatTheArchitectureAllows(t *testing.T) {
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, known := projectImports[name]
		if !known {
			t.Errorf("%s: not in the import table; add it with the packages it may import", name)
			continue
		}
		for _, imp := range p.Imports {
			checkImport(t, name, imp, allowed)
		}
		if len(p.CgoFiles) > 0 && name != "glcompute" {
			t.Errorf("%s uses cgo; only glcompute may, so that everything else builds without a C compiler", name)
		}
	}
}

func checkImport(t *testing.T, name, imp string, allowed []string) {
	t.Helper()
	if own, ok := strings.CutPrefix(imp, module+"/"); ok {
		if !slices.Contains(allowed, own) {
			t.Errorf("%s imports %s; allowed are %v", name, own, allowed)
		}
		return
	}
	if slices.Contains(standardBans[name], imp) {
		t.Errorf("%s imports %s; this package is a function of values", name, imp)
	}
	if !strings.Contains(strings.SplitN(imp, "/", 2)[0], ".") {
		return
	}
	for _, rule := range externalOwners {
		if strings.HasPrefix(imp, rule.prefix) {
			if !slices.Contains(rule.owners, name) {
				t.Errorf("%s imports %s; only %v may: %s", name, imp, rule.owners, rule.reason)
			}
			return
		}
	}
	t.Errorf("%s imports %s, which no rule places; name its owner in externalOwners", name, imp)
}

func TestImportRulesNameWhatExists(t *testing.T) {
	var names, imports []string
	for _, p := range listPackages(t) {
		names = append(names, strings.TrimPrefix(p.ImportPath, module+"/"))
		imports = append(imports, p.Imports...)
	}
	for name := range projectImports {
		if !slices.Contains(names, name) {
			t.Errorf("the import table names %s, which does not exist", name)
		}
	}
	for _, rule := range externalOwners {
		if !slices.ContainsFunc(imports, func(i string) bool { return strings.HasPrefix(i, rule.prefix) }) {
			t.Errorf("a rule names %s, which nobody imports", rule.prefix)
		}
	}
}

// sourceFiles calls fn for every Go file of the project, tests included.
func sourceFiles(t *testing.T, fn func(rel string, f *ast.File, fset *token.FileSet)) {
	t.Helper()
	root := rootDir(t)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		fn(filepath.ToSlash(rel), f, fset)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSourceRules(t *testing.T) {
	comments := map[string][]string{}
	packages := map[string]bool{}
	sourceFiles(t, func(rel string, f *ast.File, fset *token.FileSet) {
		test := strings.HasSuffix(rel, "_test.go")
		dir := filepath.ToSlash(filepath.Dir(rel))
		for _, imp := range f.Imports {
			if imp.Path.Value == `"unsafe"` && !test && dir != "glcompute" && !strings.HasSuffix(rel, "_unsafe.go") {
				t.Errorf("%s imports unsafe; only *_unsafe.go files and glcompute may", rel)
			}
		}
		if test {
			return
		}
		packages[dir] = true
		if f.Doc != nil {
			comments[dir] = append(comments[dir], rel)
		}
		if lines := fset.File(f.Pos()).LineCount(); lines > 400 {
			t.Errorf("%s has %d lines; split it by idea, 400 is the limit", rel, lines)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				checkCall(t, rel, dir, n)
			case *ast.CallExpr:
				checkLogKeys(t, rel, n)
			}
			return true
		})
	})
	for dir := range packages {
		want := []string{dir + "/doc.go"}
		if dir == "cmd/runtime" || dir == "bench" || dir == "bench/fleet" {
			want = []string{dir + "/main.go"}
		}
		if got := comments[dir]; !slices.Equal(got, want) {
			t.Errorf("%s: package comment in %v, want exactly one, in %v", dir, got, want)
		}
	}
}

// checkLogKeys has log records say under one key why something went wrong, and how many like it were left out.
func checkLogKeys(t *testing.T, rel string, call *ast.CallExpr) {
	t.Helper()
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Debug", "Info", "Warn", "Error", "Say", "Log"}, sel.Sel.Name) {
		return
	}
	for _, arg := range call.Args {
		word, ok := arg.(*ast.BasicLit)
		if !ok {
			continue
		}
		switch word.Value {
		case `"err"`, `"reason"`, `"why"`:
			t.Errorf("%s logs under the key %s; the key is \"error\"", rel, word.Value)
		case `"muted"`, `"not_logged"`:
			t.Errorf("%s logs under the key %s; the key is \"suppressed\"", rel, word.Value)
		}
	}
}

func checkCall(t *testing.T, rel, dir string, sel *ast.SelectorExpr) {
	t.Helper()
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || strings.HasPrefix(dir, "cmd/") || dir == "bench" || dir == "bench/fleet" || dir == "glcompute/gltest" { // gltest: for tests alone
		return
	}
	switch call := pkg.Name + "." + sel.Sel.Name; call {
	case "os.Getenv", "os.LookupEnv", "os.Exit", "log.Fatal", "log.Fatalf", "fmt.Print", "fmt.Println", "fmt.Printf":
		t.Errorf("%s uses %s; only commands read the environment, print and exit", rel, call)
	}
}

func TestModuleHasNoReplaceLines(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(rootDir(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mod, []byte("\nreplace")) {
		t.Error("go.mod has a replace line; the module must build for everyone else too")
	}
}

// mostFiles is how many files, tests aside, a package may have: what has more is several ideas.
const mostFiles = 25

// tooLarge lists the packages that have more, and how many. The numbers may only shrink.
var tooLarge = map[string]int{}

func TestPackageSizeIsBounded(t *testing.T) {
	files := map[string]int{}
	sourceFiles(t, func(rel string, _ *ast.File, _ *token.FileSet) {
		if !strings.HasSuffix(rel, "_test.go") {
			files[filepath.ToSlash(filepath.Dir(rel))]++
		}
	})
	for dir, n := range files {
		if most := max(mostFiles, tooLarge[dir]); n > most {
			t.Errorf("%s has %d files, %d are the limit; a package has one idea, and what serves another is a package beside it", dir, n, most)
		}
	}
	for dir := range tooLarge {
		if files[dir] == 0 {
			t.Errorf("%s is listed as too large and does not exist", dir)
		}
	}
}

// TestCommandOnly holds package main to commands, flags, and plain values that they read or print. A command has a
// name that ends in Cmd, and what a run of it needs stands in its file; flags have tags for the parser or read a
// flag's text themselves.
func TestCommandOnly(t *testing.T) {
	reads := map[string]bool{} // types that read a flag's text
	found := map[string]string{}
	sourceFiles(t, func(rel string, f *ast.File, _ *token.FileSet) {
		if strings.HasSuffix(rel, "_test.go") || filepath.ToSlash(filepath.Dir(rel)) != "cmd/runtime" {
			return
		}
		var here []string // what serves, in this file
		command := false
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "UnmarshalText" {
				reads[strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*")] = true
			}
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, spec := range g.Specs {
					s := spec.(*ast.TypeSpec)
					command = command || strings.HasSuffix(s.Name.Name, "Cmd")
					if serves(s) {
						here = append(here, s.Name.Name)
					}
				}
			}
		}
		for _, name := range here {
			if !command {
				found[name] = rel
			}
		}
	})
	for name, rel := range found {
		if !reads[name] {
			t.Errorf("%s: %s holds a lock, a channel or an atomic and is neither a command nor flags; what serves has a package with a Config", rel, name)
		}
	}
}

// serves tells whether a type holds what several goroutines use, and is neither a command nor flags.
func serves(spec *ast.TypeSpec) (shared bool) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok || strings.HasSuffix(spec.Name.Name, "Cmd") {
		return false
	}
	for _, field := range s.Fields.List {
		if field.Tag != nil && (strings.Contains(field.Tag.Value, `help:"`) || strings.Contains(field.Tag.Value, `cmd:"`)) {
			return false
		}
		ast.Inspect(field.Type, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ChanType:
				shared = true
			case *ast.SelectorExpr:
				pkg, ok := n.X.(*ast.Ident)
				shared = shared || ok && (pkg.Name == "sync" || pkg.Name == "atomic")
			}
			return true
		})
	}
	return shared
}

// TestLinksNoBenchmarks holds yardsticks out of the program that users run.
func TestLinksNoBenchmarks(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "./cmd/runtime")
	list.Dir = rootDir(t)
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if dep = strings.TrimSpace(dep); dep == "testing" || dep == module+"/bench" || strings.HasPrefix(dep, module+"/bench/") {
			t.Errorf("ringmaster links %s; benchmarks are a program of their own, in bench", dep)
		}
	}
}
