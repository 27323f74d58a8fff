"""Python's modules and names that are dangerous, and calls that only read and compute."""

from fourhands.safety.shell.options import words

# Modules by what their use means; of what is below them too.
_BY_USE = {
    "starts programs": words("subprocess pty pexpect plumbum invoke fabric popen2 sh ptyprocess asyncssh"),
    "deletes, moves or copies files": words("shutil send2trash"),
    "opens connections": words(
        "socket urllib urllib2 urllib3 requests httpx aiohttp http ftplib smtplib telnetlib poplib imaplib nntplib "
        "xmlrpc socketserver paramiko websocket websockets boto3 botocore wsgiref"
    ),
    "loads data that may be code": words("pickle cPickle _pickle marshal shelve dill cloudpickle joblib jsonpickle"),
    "calls machine code": words("ctypes _ctypes cffi"),
    "runs code that is not in the text": words(
        "importlib imp runpy code codeop builtins __builtin__ zipimport pkgutil pip ensurepip __main__"
    ),
    "calls the system directly": words("posix nt _posixsubprocess"),
    "works with Fourhands itself": words("fourhands"),
}
MODULES = {name: use for use, names in _BY_USE.items() for name in names}
# Modules below those that only compute.
HARMLESS_MODULES = words("urllib.parse http.HTTPStatus http.cookies xmlrpc.client.DateTime")
# Names that are also everyday names of variables: they count only where something of theirs is used.
COMMON_NAMES = words("requests code http sh invoke fabric commands socket")
# What `os` does besides looking.
OS_CALLS = words(
    "system popen remove unlink rmdir removedirs rename renames replace chmod lchmod fchmod chown lchown "
    "fchown chflags kill killpg fork forkpty truncate ftruncate symlink link putenv unsetenv setuid setgid "
    "seteuid setegid setreuid setregid setgroups chroot startfile mknod mkfifo open fdopen write pwrite writev "
    "sendfile copy_file_range splice posix_spawn posix_spawnp setpriority setns unshare login_tty openpty "
    "pidfd_open memfd_create eventfd dup2 nice execl execle execlp execlpe execv execve execvp execvpe spawnl "
    "spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe"
)
# Attributes that are dangerous of whatever object: only things that start programs or delete files have them.
ATTRIBUTES = {
    **dict.fromkeys(
        words(
            "system popen Popen check_output check_call getoutput getstatusoutput posix_spawn posix_spawnp "
            "create_subprocess_exec create_subprocess_shell subprocess_exec subprocess_shell execv execve "
            "execvp execvpe execl execle execlp execlpe spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp "
            "spawnvpe getoutput run_cell run_cell_magic run_line_magic getpipeoutput system_piped system_raw "
            "forkpty"
        ),
        "starts programs",
    ),
    **dict.fromkeys(words("rmtree unlink rmdir removedirs copytree copyfile"), "deletes, moves or copies files"),
    **dict.fromkeys(words("write_text write_bytes symlink_to hardlink_to"), "writes files"),
    **dict.fromkeys(words("read_pickle to_pickle load_module exec_module"), "loads data that may be code"),
}
# The same as bare names, after `from os import *` for example.
BARE_CALLS = frozenset(ATTRIBUTES) - words("load_module exec_module") | words("fork kill killpg execfile")
NAMES = words("eval exec compile __import__ __builtins__ __loader__ __spec__ execfile get_ipython reload")
# Double underscores by which code gets at everything else.
REACHING = words(
    "__class__ __subclasses__ __bases__ __base__ __mro__ __globals__ __builtins__ __import__ __loader__ __spec__ "
    "__getattribute__ __getattr__ __reduce__ __reduce_ex__ __code__ __closure__ __func__ __self__ __init__ __call__ "
    "__wrapped__ __init_subclass__ __set_name__ f_globals f_locals f_builtins gi_frame tb_frame "
    "cr_frame func_globals _getframe"
)
# Modules that other modules have as an attribute: `glob.os.remove`.
INSIDE = words("os _os subprocess _subprocess shutil _shutil builtins importlib ctypes posix pty pickle __builtin__")
PLAIN_DUNDERS = words("__name__ __qualname__ __doc__ __version__ __file__ __all__ __annotations__ __author__ __debug__")

# -- what only reads and computes --------------------------------------------------------------------------------------

CALLS = words(
    "abs all any ascii bin bool bytearray bytes callable chr complex dict dir divmod enumerate filter float format "
    "frozenset hash hex id int isinstance issubclass len list map max min oct ord pow print range repr reversed round "
    "set slice sorted str sum tuple type zip Counter Decimal Fraction OrderedDict defaultdict namedtuple deque"
)
TAKES_FUNCTION = words("map filter")
# Keywords whose value is called, and those that send the result elsewhere.
CALLED_KEYWORDS = words(
    "key default default_factory object_hook object_pairs_hook cls func function parse_float parse_int"
)
OTHER_KEYWORDS = words("file")
METHODS = words(
    # texts
    "split rsplit splitlines find rfind rindex strip lstrip rstrip lower upper title capitalize swapcase "
    "casefold join startswith endswith removeprefix removesuffix zfill ljust rjust center partition rpartition "
    "isdigit isalpha isalnum isnumeric isdecimal isspace islower isupper istitle isidentifier isprintable "
    "isascii encode decode expandtabs hex format_map "
    # lists, sets, mappings
    "append extend pop index count sort reverse copy keys values items most_common elements union intersection "
    "difference symmetric_difference issubset issuperset isdisjoint popitem "
    # numbers, dates
    "bit_length as_integer_ratio conjugate is_integer isoformat strftime date time timestamp total_seconds weekday "
    "isoweekday quantize normalize "
    # matches
    "group groups groupdict span "
    # tables of data
    "describe info mean median std var quantile value_counts unique nunique sort_values sort_index "
    "groupby isna isnull notna notnull corr cumsum nlargest nsmallest idxmax idxmin astype tolist to_dict "
    "to_list reset_index dropna fillna reshape ravel flatten transpose argmax argmin argsort nonzero dot diff "
    "explode between isin memory_usage "
    # paths, which these only look at
    "exists is_file is_dir is_symlink is_absolute as_posix with_suffix with_name relative_to joinpath iterdir "
    "glob rglob"
)
FUNCTIONS = words(
    "os.getcwd os.listdir os.cpu_count os.getpid os.fspath os.path.join os.path.exists os.path.isfile "
    "os.path.isdir os.path.basename os.path.dirname os.path.abspath os.path.splitext os.path.getsize "
    "os.path.getmtime os.path.relpath os.path.normpath os.path.realpath os.path.expanduser os.path.islink "
    "os.uname os.scandir sys.getsizeof sys.getrecursionlimit sys.getrefcount json.loads json.dumps math.sqrt "
    "math.sin math.cos math.tan math.log math.log2 math.log10 math.exp math.pow math.floor math.ceil "
    "math.factorial math.gcd math.lcm math.comb math.perm math.hypot math.isclose math.isnan math.prod "
    "math.dist math.radians math.degrees math.atan math.atan2 math.fsum math.trunc math.fabs statistics.mean "
    "statistics.median statistics.mode statistics.stdev statistics.pstdev statistics.variance re.findall "
    "re.match re.search re.fullmatch re.split re.compile re.escape re.finditer datetime.now datetime.today "
    "datetime.utcnow datetime.datetime.now datetime.datetime.today datetime.date.today datetime.timedelta "
    "datetime.date datetime.datetime date.today time.time time.monotonic time.perf_counter time.strftime "
    "time.localtime time.gmtime itertools.chain itertools.combinations itertools.permutations "
    "itertools.product itertools.islice itertools.count itertools.accumulate collections.Counter "
    "collections.OrderedDict collections.defaultdict collections.deque collections.namedtuple textwrap.dedent "
    "textwrap.indent textwrap.wrap textwrap.fill string.capwords random.random random.randint random.choice "
    "random.sample random.uniform platform.python_version platform.platform platform.system platform.machine "
    "platform.node pathlib.Path Path.cwd pathlib.Path.cwd decimal.Decimal fractions.Fraction str.join "
    "str.lower str.upper str.strip dict.fromkeys np.array np.arange np.linspace np.zeros np.ones np.full "
    "np.eye np.mean np.median np.std np.var np.sum np.min np.max np.dot np.sqrt np.abs np.round np.unique "
    "np.sort np.where np.concatenate np.stack np.argmax np.argmin np.log np.exp numpy.array numpy.arange "
    "numpy.linspace numpy.zeros numpy.ones pd.DataFrame pd.Series pd.isna pd.to_datetime pd.to_numeric "
    "pd.concat pd.date_range"
)
PATHS = words("Path PurePath PosixPath")
# Always loaded, so that no file beside the program takes their place.
IMPORTS = words("os os.path sys time io abc stat errno itertools")
QUERIES = words("execute executemany executescript exec_driver_sql read_sql read_sql_query text sql query raw")
"""Methods whose text is a statement for a database."""
