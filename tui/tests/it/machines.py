#!/usr/bin/env python3
"""Machines in a directory, for the tests: each is a directory, and a process once it was started."""
import json, os, shutil, signal, subprocess, sys, time

home = sys.argv[1]
ask = json.loads(sys.stdin.readline())
call = ask["call"]


def answer(ok):
    print(json.dumps({"ok": ok}))
    sys.exit(0)


def facts(at):
    with open(os.path.join(at, "facts")) as file:
        return json.load(file)


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(") ", 1)[1][0] not in "ZX"
    except OSError:
        return False


def told(at):
    known = facts(at)
    lease = {"id": os.path.basename(at)}
    work = {"state": "absent"}
    if "pid" in known:
        handle = {"pid": str(known["pid"])}
        state = "running" if runs(known["pid"]) else "exited"
        work = {"state": state, "handle": handle}
    out = {"slot": known["slot"], "attempt": known["attempt"], "fence": known["fence"]}
    return dict(out, lease=lease, workload=work)


if call == "list-owned":
    os.makedirs(home, exist_ok=True)
    places = [os.path.join(home, name) for name in os.listdir(home)]
    answer({"complete": True, "owned": [told(at) for at in places if os.path.isdir(at)]})

at = os.path.join(home, ask["attempt"])
if call == "create-lease":
    os.makedirs(at, exist_ok=True)
    with open(os.path.join(at, "facts"), "w") as file:
        json.dump({name: ask[name] for name in ("slot", "attempt", "fence")}, file)
    answer({"lease": {"id": ask["attempt"]}, "endpoint": {"host": "127.0.0.1", "ports": {}}})
if call == "lookup-endpoint":
    answer({"endpoint": {"host": "127.0.0.1", "ports": {}}})
if call == "inspect":
    if not os.path.isdir(at):
        answer({"present": False})
    answer(dict(told(at), present=True, endpoint={"host": "127.0.0.1", "ports": {}}))
if call == "start-bootstrap":
    with open(os.path.join(home, "start.json"), "w") as file:
        json.dump(ask, file)
    boot = ask["spec"]["boot"]
    env = {"PATH": os.environ["PATH"], **boot["env"], **ask.get("secrets", {})}
    log = open(os.path.join(at, "log"), "a")
    child = subprocess.Popen(boot["command"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    known = facts(at)
    known["pid"] = child.pid
    with open(os.path.join(at, "facts"), "w") as file:
        json.dump(known, file)
    answer({"handle": {"pid": str(child.pid)}})
if call in ("cancel-bootstrap", "destroy-lease"):
    pid = facts(at).get("pid") if os.path.isdir(at) else None
    if pid and runs(pid):
        os.kill(pid, signal.SIGTERM)
        for _ in range(100):
            if not runs(pid):
                break
            time.sleep(0.05)
        else:
            os.kill(pid, signal.SIGKILL)
    if call == "destroy-lease":
        shutil.rmtree(at, ignore_errors=True)
answer({})
