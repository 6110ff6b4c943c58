// place finds where in the hit buffer and in the bitmaps the nodes of the current level and of the next one are.
void place() {
    uint half_queue = level & 1u;
    queue_now = half_queue * hit_capacity;
    queue_next = (half_queue ^ 1u) * hit_capacity;
    uint third = level % 3u;
    bits_now = third * bit_words;
    bits_next = (third == 2u ? 0u : third + 1u) * bit_words;
    bits_spare = (third == 0u ? 2u : third - 1u) * bit_words;
}
