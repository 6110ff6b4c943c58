// Package sourcetest compares the sources of kernels, as a driver gets them, with the
// files in which they are committed. A change of a shader, or of anything printed into
// it, so shows in review as a change of the whole kernel.
package sourcetest
