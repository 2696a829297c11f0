package attack_test

import "strings"

// serverLines is the reason of those that TestCorpusKeys runs, through a server.
const serverLines = "names of tools and limits per key are decided in front of the engine, and tried by TestCorpusKeys"

// elsewhere lists the lines of the corpus that this package does not run, each under its reason. A line that
// is neither run nor listed fails the test, and so does a listed one that could be run here.
var elsewhere = map[string]string{
	"presets are tried by the tests of the business tools": `
		PRE-002 PRE-004 PRE-005 PRE-007 PRE-008 PRE-009 PRE-010 PRE-012 PRE-014 PRE-016 PRE-017 PRE-019
		PRE-020 PRE-021 PRE-023 PRE-024 PRE-025 PRE-026`,
	"loading a SQL tool is tried by the tests of the SQL tools": `
		SQT-001 SQT-002 SQT-004 SQT-005 SQT-007 SQT-008 SQT-009 SQT-011 SQT-012 SQT-013 SQT-014 SQT-017
		SQT-018 SQT-020 SQT-021 SQT-022 SQT-024 SQT-025 SQT-027 SQT-028 SQT-031 SQT-032 SQT-034 SQT-035
		SQT-037 SQT-038 SQT-040 SQT-041 SQT-042 SQT-044 SQT-045 SQT-047 SQT-048 SQT-050 SQT-051 SQT-053
		SQT-054 SQT-056 SQT-057 SQT-058 SQT-060 SQT-061 SQT-063 SQT-064 SQT-066 SQT-067 SQT-068 SQT-070
		SQT-071 SQT-073 SQT-075 SQT-076 SQT-077 SQT-079 SQT-080 SQT-081 SQT-083 SQT-084 SQT-086 SQT-087
		SQT-088 SQT-090 SQT-091 SQT-093 SQT-094 SQT-095 SQT-097 SQT-098 SQT-100 SQT-101 SQT-103 SQT-104
		SQT-105 SQT-107 SQT-108 SQT-110 SQT-111 SQT-113 SQT-114 SQT-115 SQT-117 SQT-119 SQT-120 SQT-121
		SQT-122 SQT-124 SQT-126 SQT-127 SQT-129 SQT-130 SQT-131 SQT-132 SQT-134 SQT-135 SQT-137 SQT-138
		SQT-139 SQT-141 SQT-142 SQT-144 SQT-145 SQT-147 SQT-149 SQT-150 SQT-152 SQT-153 SQT-155 SQT-156
		SQT-157 SQT-158 SQT-159 SQT-161 SQT-162 SQT-164 SQT-165`,
	"calling a SQL tool is tried by the tests of the SQL tools": `
		SQC-001 SQC-002 SQC-004 SQC-005 SQC-007 SQC-008 SQC-009 SQC-011 SQC-012 SQC-013 SQC-015 SQC-017
		SQC-018 SQC-021 SQC-022`,
	serverLines: `
		ERR-008 ERR-009 ERR-010 ERR-011 DOS-008 DOS-009`,
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
