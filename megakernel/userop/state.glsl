// The slot an operator's opcode runs on, for this invocation.
uint rm_base;   // first word of its window in the heap
uint rm_length; // words of its window
uint rm_number; // its sequence number
uint rm_steps;  // loop turns left
uint rm_open;   // loops begun and not ended
uint rm_fault;  // FAULT_NONE, a fault code or NOT_REACHED
uint rm_word;   // its result word

void rm_begin(uint base, uint length, uint sequence) {
    rm_base = base;
    rm_length = length;
    rm_number = sequence;
    rm_steps = 0u;
    rm_open = 0u;
    rm_fault = FAULT_NONE;
    rm_word = 0u;
}
