// Package classic holds the searches with which the product's is compared, and the
// comparison on recorded spaces: random, local, annealing and genetic search
// without a model, a policy that follows the natural gradient, and the ranks of
// other recordings.
package classic
