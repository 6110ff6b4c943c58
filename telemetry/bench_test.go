package telemetry

import "testing"

func BenchmarkDecodeQueue(b *testing.B) {
	for _, f := range []struct {
		name string
		form Form
	}{{"array", FormArray}, {"map", FormMap}} {
		b.Run(f.name, func(b *testing.B) {
			h, q := testHeader(), fullQueue()
			buf := AppendQueue(nil, f.form, &h, &q)
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			var d Decoder
			var r Record
			for b.Loop() {
				d.Reset(buf)
				if err := d.Next(&r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckQueue(b *testing.B) {
	h, q := testHeader(), fullQueue()
	buf := AppendQueue(nil, FormArray, &h, &q)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Check(buf, DefaultTelemetryLimits); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeQueue(b *testing.B) {
	for _, f := range []struct {
		name string
		form Form
	}{{"array", FormArray}, {"map", FormMap}} {
		b.Run(f.name, func(b *testing.B) {
			h, q := testHeader(), fullQueue()
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendQueue(buf[:0], f.form, &h, &q)
			}
		})
	}
}
