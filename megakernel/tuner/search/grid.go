package search

import "ringmaster/megakernel/tuner/space"

// maxCells bounds the cells of a parameter that a kernel tells apart: its table
// has a correlation for every pair of them.
const maxCells = 256

// grid is how a kernel sees a space: only the parameters that vary. The values of
// a parameter with very many are gathered in cells of about the same coordinate.
type grid struct {
	space  *space.Space
	coords [][]float64 // by parameter and cell
	cells  []uint16    // by configuration and parameter; nil if they are the space's levels
}

func newGrid(s *space.Space) *grid {
	g := &grid{space: s}
	var params []int
	var cellOf [][]uint16
	same := true
	for j, p := range s.Params() {
		n := len(p.Values)
		if n < 2 {
			same = false
			continue
		}
		cells, of := min(n, maxCells), make([]uint16, n)
		coords := p.Coords
		for l := range of {
			of[l] = uint16(l)
		}
		if n > cells {
			same = false
			coords = make([]float64, cells)
			for l, x := range p.Coords {
				of[l] = uint16(x*float64(cells-1) + .5)
			}
			for i := range coords {
				coords[i] = float64(i) / float64(cells-1)
			}
		}
		params, cellOf, g.coords = append(params, j), append(cellOf, of), append(g.coords, coords)
	}
	if same {
		return g
	}
	g.cells = make([]uint16, 0, s.Len()*len(params))
	for c := range s.Len() {
		levels := s.Levels(c)
		for i, j := range params {
			g.cells = append(g.cells, cellOf[i][levels[j]])
		}
	}
	return g
}

// at returns the cells of a configuration.
func (g *grid) at(config int) []uint16 {
	if g.cells == nil {
		return g.space.Levels(config)
	}
	d := len(g.coords)
	return g.cells[config*d : (config+1)*d]
}
