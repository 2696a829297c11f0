package attack_test

import "strings"

// serverLines is the reason of those that TestCorpusKeys runs, through a server.
const serverLines = "names of tools and limits per key are decided in front of the engine, and tried by TestCorpusKeys"

// frontLines is the reason of those that TestCorpusPresetsFront runs, over HTTP.
const frontLines = "versions of answers and scopes of tools stand in front of the engine, and are tried by TestCorpusPresetsFront"

// elsewhere lists the lines of the corpus that this package does not run, each under its reason. A line that
// is neither run nor listed fails the test, and so does a listed one that could be run here.
var elsewhere = map[string]string{
	serverLines: `
		ERR-008 ERR-009 ERR-010 ERR-011 DOS-008 DOS-009`,
	frontLines: `
		PRE-025 PRE-026`,
	"the transport is tried by the tests of the server": `
		TRN-001 TRN-003 TRN-004 TRN-005 TRN-007 TRN-008 TRN-012 TRN-013 TRN-015 TRN-016 TRN-017 TRN-018
		TRN-019 TRN-020 TRN-021 TRN-023 TRN-024 TRN-025 TRN-026 TRN-027 TRN-028 TRN-029`,
}

// notRun gives the reason for each line that is not run here.
func notRun() map[string]string {
	reasons := map[string]string{}
	for reason, ids := range elsewhere {
		for _, id := range strings.Fields(ids) {
			reasons[id] = reason
		}
	}
	return reasons
}
