// The dispatch over operators' opcodes. USER_LOW and USER_HIGH have a bit for each that
// the kernel has, USER_CASES is a case for each, in the scope of a slot's arguments.

bool has_user_opcode(uint opcode) {
    uint word = opcode < 32u ? USER_LOW : USER_HIGH;
    return opcode < 64u && (word >> (opcode & 31u) & 1u) != 0u;
}

void run_user_opcode(uint slot, uint opcode, uvec4 a) {
    rm_begin(window_base, window_length, slots[slot].head.w);
    switch (opcode) {
        USER_CASES
    }
}
