"""Terminals and an agent's tools without `await`, for a notebook, where a loop runs already: each part is a cell."""

# %% Open them; what is still open when the notebook ends is closed.
import fourhands

terminals = fourhands.sync.Terminals(".").open()
tools = fourhands.sync.Toolset(".", name="notebook", allow=("see", "write", "run"), ask="never").open()

# %% A shell that stays: exactly the output of this command, and how it ended.
shell = terminals.create(title="notebook")
shell.run("cd /tmp && GREETING=hello")
done = shell.run('echo "$GREETING from $PWD"; false | true')
print(done.output, done.exit_code, done.statuses)

# %% A program that asks: wait until it wants input, answer it, and read what came of it.
position = shell.type("python3 -q\n")
print("it wants input:", shell.wait(input_wanted=True, deadline_s=30).reason == "input")
shell.type("print(6 * 7); exit()\n")
shell.wait(finished=True, deadline_s=30)
print(shell.since(position).text)

# %% The tools that a model would be given, called by hand: in the sandbox, and what needs approval is refused.
print([tool["name"] for tool in tools.anthropic()])
print(tools.call("write", {"path": "squares.py", "content": "print([n * n for n in range(5)])\n"}))
print(tools.call("bash", {"command": "python3 squares.py"}))
print(tools.call("bash", {"command": "rm -rf ~"}))

# %% The end.
tools.close()
terminals.close()
