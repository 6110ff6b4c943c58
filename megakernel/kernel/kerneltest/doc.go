// Package kerneltest is for tests of kernels. It compares their sources, as a driver gets
// them, with the files in which they are committed, so that a change of a shader, or of
// anything printed into it, shows in review as a change of the whole kernel. And it makes
// packed slots.
package kerneltest
