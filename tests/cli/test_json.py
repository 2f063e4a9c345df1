"""`--json`: one document on standard output, whatever happens. Usage: test_json.py <tilepost> <specs folder>"""
import json
import subprocess
import sys
import tempfile

tool, specs = sys.argv[1], sys.argv[2]
sm90, sm80, host = (f"{specs}/ar_{arch}.yaml" for arch in ("sm90", "sm80", "host"))
failures = 0


def check(holds, what):
    global failures
    if not holds:
        failures += 1
        print("FAIL:", what)


def run(exit_code, *arguments):
    """The document that a command prints: nothing else is there, and it says the exit code."""
    done = subprocess.run([tool, *arguments], stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    command = " ".join(arguments)
    check(done.returncode == exit_code, f"{command}: exit code {done.returncode}, expected {exit_code}")
    document = json.loads(done.stdout)  # refuses what follows a document
    check(document["exit_code"] == exit_code, f"{command}: the document has exit code {document['exit_code']}")
    check(document["command"] == arguments[0], f"{command}: the document is of {document['command']}")
    check(document["tilepost"].count(".") == 2, f"{command}: version {document['tilepost']}")
    for message in document["diagnostics"]:
        check(list(message) == sorted(message) and set(message) == {"severity", "file", "line", "column", "message"},
              f"{command}: a message has {list(message)}")
        check(message["severity"] in ("error", "warning", "note"), f"{command}: {message['severity']}")
    errors = [m for m in document["diagnostics"] if m["severity"] == "error"]
    check(bool(errors) == (exit_code != 0) or document.get("failed"), f"{command}: {len(errors)} errors")
    return document


def the_message(document):
    check(len(document["diagnostics"]) == 1, f"messages: {document['diagnostics']}")
    return document["diagnostics"][0]


# check
done = run(0, "check", sm90, host, "--json")
check(done["specs"] == [{"file": sm90, "ok": True}, {"file": host, "ok": True}], done["specs"])
check(done["diagnostics"] == [], done["diagnostics"])
warned = the_message(run(0, "check", "--json", sm90, "-D", "gemm.k=2050"))
check((warned["severity"], warned["file"], warned["line"], warned["column"])
      == ("warning", "<command line>", 1, 11), warned)
check(warned["message"].startswith("slow kernel: gemm_sm90 needs K a multiple of 8, not 2050"), warned)
strict = the_message(run(1, "check", "--json", sm90, "-D", "gemm.k=2050", "--werror"))
check(strict["severity"] == "error" and strict["message"].endswith(" [--werror]"), strict)
wrong = run(1, "check", "--json", sm90, "-D", "gemm.k=0", "-D", "ranks=99")
check(wrong["specs"] == [{"file": sm90, "ok": False}], wrong["specs"])
check(sorted(m["message"].split()[0] for m in wrong["diagnostics"]) == ["gemm.k", "ranks"], wrong)
with tempfile.NamedTemporaryFile("w", prefix="\x1b[31m\u202e", suffix=".yaml") as odd:
    odd.write("tilepost: 1\nname: \"\\e\"\n")
    odd.flush()
    check(run(1, "check", "--json", odd.name)["specs"][0]["file"] == odd.name, "a file's name is not itself")
missing = the_message(run(3, "check", "none.yaml", "--json"))
check(missing["file"] is None and missing["line"] is None and missing["column"] is None, missing)

# explain
for spec, arch in ((sm90, "sm_90a"), (sm80, "sm_80")):
    explained = run(0, "explain", spec, "--json")
    prediction = explained["prediction"]
    check(set(prediction) == {"us", "sequence_us", "overlaps"}, prediction)
    check(prediction["us"] > 0 and prediction["sequence_us"] > 0, prediction)
    check(prediction["overlaps"] is True, prediction)
    plan = explained["plans"][0]
    check(plan["arch"] == arch and plan["prediction"] == prediction, plan["arch"])
    check(plan["prediction_us"]["total"] == prediction["us"], plan["prediction_us"]["total"])
    text = subprocess.run([tool, "explain", spec], capture_output=True, text=True).stdout
    check(f"prediction   {prediction['us']:.0f} us" in text, "the text predicts something else")
check(run(0, "explain", sm90, "--json", "-D", "transport=none")["prediction"]["overlaps"] is False, "none overlaps")
both = run(0, "explain", sm90, "--json", "--arch", "80,90a")
check([plan["arch"] for plan in both["plans"]] == ["sm_80", "sm_90a"], "two architectures")
threads = run(0, "explain", host, "--json")["prediction"]
check(threads["us"] is None and threads["sequence_us"] is None, threads)
refused = run(1, "explain", sm90, "--json", "-D", "gemm.a=bfloat16")
check(refused["plans"] == [] and refused["prediction"] is None and refused["name"] is None, refused)
check("did you mean 'bf16'?" in refused["diagnostics"][0]["message"], refused["diagnostics"])

# explain, several shapes
many = run(0, "explain", sm90, "--json", "--shape", "8192x8192x2048", "--shape", "64x8192x2048")
check("plans" not in many and "prediction" not in many, list(many))
check([line["shape"] for line in many["shapes"]] == [[8192, 8192, 2048], [64, 8192, 2048]], many["shapes"])
one = run(0, "explain", sm90, "--json", "-D", "gemm.m=64", "-D", "gemm.n=8192", "-D", "gemm.k=2048")
few = many["shapes"][1]
check(few["us"] == one["prediction"]["us"] and few["sequence_us"] == one["prediction"]["sequence_us"], few)
check(abs(few["ratio"] - few["sequence_us"] / few["us"]) < 0.01 and 0 < few["limit_us"] < few["us"], few)
check(few["transport"] == one["plans"][0]["transport"] and few["groups"] == len(one["plans"][0]["groups"]), few)
check((few["arch"], few["swept"], few["error"]) == ("sm_90a", {}, None), few)
some = run(1, "explain", sm90, "--json", "--sweep", "gemm.m=64,0")["shapes"]
check([line["swept"] for line in some] == [{"gemm.m": "64"}, {"gemm.m": "0"}], some)
check(some[0]["error"] is None and some[1]["us"] is None and some[1]["error"].startswith("gemm.m must be"), some)
threads = run(0, "explain", host, "--json", "--sweep", "ranks=2,4")["shapes"]
check([(line["us"], line["ratio"], line["limit_us"]) for line in threads] == [(None, None, None)] * 2, threads)

# list
everything = run(0, "list", "--json")
check({"patterns", "archs", "kernels", "transports", "flags"} <= set(everything), list(everything))
for what in ("patterns", "archs", "kernels", "transports", "flags", "variants"):
    items = run(0, "list", what, "--json")[what]
    lines = subprocess.run([tool, "list", what], capture_output=True, text=True).stdout.splitlines()
    check(len(items) == len(lines), f"list {what}: {len(items)} items, {len(lines)} lines")
    check(what == "variants" or len(set(lines)) == len(lines), f"list {what}: a line is there twice")
    first = list(items[0].values())
    check(all(line.split()[0] in json.dumps(item) for line, item in zip(lines, items)), f"list {what}: {first}")
the_message(run(2, "list", "flgs", "--json"))

# the command line
for arguments in (["check", "--json"], ["check", sm90, "--json", "--no-such-flag"], ["verify", "--json", "x", "--runs", "0"],
                  ["explain", "--json", sm90, sm80], ["verify", sm90, "--target", "moon", "--json"]):
    run(2, *arguments)

# verify: what it says before it compiles. test_verify.sh has the rest.
nothing = run(1, "verify", sm90, "--json", "-D", "gemm.k=0")
check((nothing["target"], nothing["checks"], nothing["passed"], nothing["failed"]) == (None, [], 0, 0), nothing)

print("PASS" if failures == 0 else f"{failures} failures")
sys.exit(failures != 0)
