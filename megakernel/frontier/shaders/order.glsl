// call_team resets the words by which the resident kernel's workgroups find each other.
void call_team() {
    team_words[TEAM_JOINED] = 0u;
    team_words[TEAM_SIZE] = 0u;
    team_words[TEAM_SLOT] = WRITTEN_SLOT;
    for (uint i = 0u; i < 3u; i++) {
        team_counts[i] = uvec4(0u);
    }
}

// order_resident orders the workgroups of the resident kernel, if it is to run.
void order_resident() {
    bool ordered = state == STATE_RESIDENT && in_resident == 0u;
    fused_args[0] = ordered ? RESIDENT_GROUPS : 0u;
    if (ordered) {
        call_team();
    }
}
