package rum

import (
	"testing"

	"wideleaf/am/amtest"
)

func TestConformance(t *testing.T) { amtest.Run(t, Method) }
