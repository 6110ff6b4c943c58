// Package gpu is the seam between the engine and OpenGL: what a compute context
// can be asked to do ([Device]), the names of its objects, how its loss is told
// ([Lost]), and what the engine's parts need to know about a driver ([Traits]).
// Package glcompute has the real contexts.
package gpu
