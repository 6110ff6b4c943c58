package option

import (
	"log/slog"

	"ringmaster/cmd/runtime/admin"
)

// HTTP say where a process can be asked over HTTP how it is, and by whom.
type HTTP struct {
	Addr     string `name:"http" placeholder:"ADDR" env:"RINGMASTER_HTTP" help:"Serve /metrics, /livez and /readyz over HTTP at this address, such as ${http_addr}. Beyond loopback, --http-token or --http-client-ca is needed (default: serve nothing)."`
	Token    string `name:"http-token" placeholder:"FILE" env:"RINGMASTER_HTTP_TOKEN" help:"File with the bearer token that every HTTP request has to bring."`
	Cert     string `name:"http-cert" placeholder:"FILE" env:"RINGMASTER_HTTP_CERT" help:"Certificate of the HTTP server, for HTTPS."`
	Key      string `name:"http-key" placeholder:"FILE" env:"RINGMASTER_HTTP_KEY" help:"Key of that certificate."`
	ClientCA string `name:"http-client-ca" placeholder:"FILE" env:"RINGMASTER_HTTP_CLIENT_CA" help:"Certificates of authorities: every HTTP client has to show a certificate of one of them."`
	Pprof    bool   `name:"http-pprof" env:"RINGMASTER_HTTP_PPROF" help:"Serve profiles of this process at /debug/pprof/ too."`
	Series   int    `name:"http-queues" placeholder:"N" default:"${http_queues}" env:"RINGMASTER_HTTP_QUEUES" shared:"" help:"Queues that have series of their own in /metrics: the busiest; the others are summed up."`
}

// Traces say where the spans of traces go.
type Traces struct {
	Collector string `name:"otlp-endpoint" placeholder:"URL" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"Send spans of what came with a sampled trace context (header traceparent) to this collector of OpenTelemetry, by JSON over HTTP, such as http://127.0.0.1:4318 (default: follow no traces)."`
}

// Config is the server that the flags ask for, without what it answers.
func (f *HTTP) Config(log *slog.Logger) admin.Config {
	return admin.Config{
		Addr: f.Addr, TokenFile: f.Token, CertFile: f.Cert, KeyFile: f.Key, ClientCAFile: f.ClientCA, Pprof: f.Pprof, Log: log,
	}
}
