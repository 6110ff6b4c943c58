// Package workpath measures the way of work: batches that a submitter stores in the work stream until their done
// records are back, beside a bare JetStream worker that only echoes. Both have the same server, the same settings of
// stream and consumer, the same bytes, and the same submitter; they take turns.
package workpath
