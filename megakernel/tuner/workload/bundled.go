package workload

// window is the number of words of the bundled workloads: 4 MiB, more than a core's
// caches and less than a GPU's. Copies read the lower half and write the upper one.
const (
	window = 1 << 20
	half   = window / 2
)

// light has slots of one word of memory traffic each.
func light(name, about string, slots int) Workload {
	at := Operand{0, window, 1}
	return Workload{Name: name, About: about, Slots: slots, Window: window, Parts: []Part{
		{"store", 1, []Operand{{0, 1 << 20, 0}, at}},
		{"add", 1, []Operand{word(1), at}},
		{"load", 1, []Operand{at}},
		{"nop", 1, nil},
	}}
}

// scattered is light at random addresses.
func scattered(name, about string, slots int) Workload {
	at := Operand{0, window, 0}
	return Workload{Name: name, About: about, Slots: slots, Window: window, Parts: []Part{
		{"add", 1, []Operand{word(1), at}},
		{"load", 3, []Operand{at}},
	}}
}

// contended has slots that all add to a few words.
func contended(name, about string, slots int, words uint32) Workload {
	return Workload{Name: name, About: about, Slots: slots, Window: window, Parts: []Part{
		{"add", 3, []Operand{word(1), {0, words, 0}}},
		{"compare_swap", 1, []Operand{{0, words, 0}, word(7), word(8)}},
	}}
}

// heavy has slots that copy some words each.
func heavy(name, about string, slots int, words uint32) Workload {
	return Workload{Name: name, About: about, Slots: slots, Window: window, Parts: []Part{copies(1, words, words)}}
}

// skewed has light slots, except that one in every oneIn copies up to some words.
func skewed(name, about string, slots, oneIn int, words uint32, sorted bool) Workload {
	at := Operand{0, window, 1}
	return Workload{Name: name, About: about, Slots: slots, Window: window, Sorted: sorted, Parts: []Part{
		copies(1, words/4, words),
		{"load", (oneIn - 1) / 2, []Operand{at}},
		{"add", oneIn - 1 - (oneIn-1)/2, []Operand{word(1), at}},
	}}
}

// copies are copies of least to most words from the lower half of the window to
// its upper half.
func copies(share int, least, most uint32) Part {
	room := Operand{0, half - most, most}
	return Part{"copy", share, []Operand{room, {half + room.From, half + room.To, most}, {least, most + 1, 0}}}
}

// Bundled are the workloads that tuners are measured with.
func Bundled() []Workload {
	return []Workload{
		light("light-256", "one word a slot", 256),
		heavy("heavy-256", "copies of 256 words", 256, 256),
		light("light-4k", "one word a slot", 4<<10),
		heavy("heavy-4k", "copies of 64 words", 4<<10, 64),
		skewed("skewed-4k", "one slot of 32 copies up to 256 words", 4<<10, 32, 256, false),
		contended("contended-16k", "additions to 64 words", 16<<10, 64),
		light("light-64k", "one word a slot", 64<<10),
		heavy("heavy-64k", "copies of 16 words", 64<<10, 16),
		skewed("skewed-64k", "one slot of 256 copies up to 256 words", 64<<10, 256, 256, false),
		skewed("sorted-64k", "the same, the copies first", 64<<10, 256, 256, true),
		scattered("scattered-256k", "one word a slot at random addresses", 256<<10),
		skewed("skewed-256k", "one slot of 1,024 copies up to 512 words", 256<<10, 1024, 512, false),
		light("light-1m", "one word a slot", 1<<20),
		heavy("heavy-1m", "copies of 4 words", 1<<20, 4),
	}
}

// Find is the bundled workload of a name.
func Find(name string) (w Workload, found bool) {
	for _, w := range Bundled() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}
