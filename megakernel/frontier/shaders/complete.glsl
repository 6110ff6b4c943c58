shared uint completed; // 1: the level before is complete

// log_level leaves the record to the invocations that loaded its words.
void log_level() {
    completed = 1u;
    logged++;
}
