//! id: 43
//! name: names
//! operands: heap, control, slots, statuses, results, schedule
//! side-effects: no
//! idempotent: yes

// Variables with names of the kernel's own.
uint wave_chunk = heap + control;
uint wave_shift = slots + statuses;
uint wave_entries = results + schedule;
uint window_base = wave_chunk * wave_shift;
uint window_length = window_base ^ wave_entries;
uint step_budget = window_length + window_words();
uint execute = step_budget + sequence();
uint opcode = execute;
uint attempts = opcode;
uint run = attempts;
uint report = run;
result(report);
