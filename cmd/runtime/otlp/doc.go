// Package otlp sends spans to a collector of OpenTelemetry, as JSON over HTTP. What a collector does not take in time
// is lost and counted: traces never hold up what they are of.
package otlp
