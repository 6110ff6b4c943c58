package megakernel

// PrintRecords is how many records the print log of an engine keeps.
const PrintRecords = 4096
