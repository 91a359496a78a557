"""English words that turn what a sentence says, words that add nothing, and words for the same thing.

Other languages have no list here: of theirs only words that are spelled alike, endings aside, are the same.
"""

from __future__ import annotations

from libs.language.stopwords import word_set


def _by_word(groups: str) -> dict[str, str]:
    """Each word of a line leads to the first."""
    return {word: line.split()[0] for line in groups.strip().splitlines() for word in line.split()}


NUMBERS = dict(
    pair.split(":")
    for pair in word_set(
        """
        zero:0 one:1 two:2 three:3 four:4 five:5 six:6 seven:7 eight:8 nine:9 ten:10 eleven:11 twelve:12
        thirteen:13 fourteen:14 fifteen:15 sixteen:16 seventeen:17 eighteen:18 nineteen:19 twenty:20 thirty:30
        forty:40 fifty:50 sixty:60 seventy:70 eighty:80 ninety:90 hundred:100 thousand:1000 million:1000000
        once:1 twice:2 thrice:3 half:0.5 dozen:12
        """
    )
)
"""Words for numbers, and the numbers."""

CONTRASTS = _by_word(
    """
    monday mondays mon
    tuesday tuesdays tue
    wednesday wednesdays wed
    thursday thursdays thu
    friday fridays fri
    saturday saturdays sat
    sunday sundays sun
    weekday weekdays workday workdays
    weekend weekends
    january jan
    february feb
    march
    april apr
    june jun
    july jul
    august aug
    september sep
    october oct
    november nov
    december dec
    spring
    summer
    autumn fall
    winter
    morning mornings
    noon midday
    afternoon afternoons
    evening evenings
    night nights overnight nightly
    midnight
    today
    tomorrow
    yesterday
    hourly
    daily
    weekly
    monthly
    yearly annually
    before prior
    after afterwards
    during while
    until till
    early earlier
    late later
    first
    second
    third
    last final
    next
    previous previously
    always
    often frequently usually generally
    sometimes occasionally
    rarely seldom hardly
    every each all everybody everyone
    some
    most mostly
    few
    many
    both
    either
    more
    less fewer
    higher
    lower
    above
    below under beneath
    up
    down
    inside
    out outside
    off
    from
    left
    right
    north northern
    south southern
    east eastern
    west western
    high
    low
    top
    bottom
    big large huge
    small little tiny
    long
    short
    new
    old
    fast quick quickly rapid rapidly
    slow slowly
    hot warm
    cold cool
    cheap inexpensive
    expensive costly
    good great
    bad
    best
    worst
    better
    worse
    safe
    unsafe dangerous
    easy easily simple
    hard difficult
    true
    false
    yes
    black
    white
    red
    green
    blue
    yellow
    increase increases increased increasing raise raises raised
    decrease decreases decreased decreasing reduce reduces reduced
    enable enables enabled enabling
    disable disables disabled disabling
    allow allows allowed permit permits permitted
    deny denies denied forbid forbids forbidden refuse refuses refused reject rejects rejected
    accept accepts accepted
    start starts started begin begins began
    stop stops stopped end ends ended
    open opens opened
    close closes closed
    add adds added insert inserts
    remove removes removed delete deletes deleted drop drops dropped
    read reads
    write writes wrote written
    push pushes pushed
    pull pulls pulled
    upload uploads uploaded
    download downloads downloaded
    import imports imported
    export exports exported
    lock locks locked
    unlock unlocks unlocked
    encrypt encrypts encrypted
    decrypt decrypts decrypted
    install installs installed
    uninstall uninstalls uninstalled
    success succeed succeeds succeeded successful successfully pass passes passed
    failure failures fail fails failed failing broke broken break breaks
    love loves loved like likes liked prefer prefers preferred prefered
    hate hates hated dislike dislikes disliked
    buy buys bought purchase purchases purchased
    sell sells sold
    win wins won
    lose loses lost
    public
    private
    local
    remote
    minimum min minimal
    maximum max maximal
    development dev
    staging
    production prod
    test testing tests
    client clients
    server servers
    frontend
    backend
    input
    output
    source
    target destination
    sync synchronous synchronously
    async asynchronous asynchronously
    manual manually
    automatic automatically
    optional
    required mandatory
    must should need needs needed have-to ought
    may might can could
    was were had did used
    he him his
    she her hers
    i me my mine
    we us our ours
    you your yours
    husband
    wife
    father dad
    mother mom
    son
    daughter
    brother
    sister
    """
)
"""What another word of its kind would turn into something else. Words of one line say the same."""

NEGATIONS = _by_word(
    """
    not no none never nobody nothing cannot without neither nor nowhere
    except excluding unless besides
    only just solely exclusively
    """
)
"""What turns a sentence round, or excepts something. Words of one line do the same."""

NEGATING = ("un", "in", "im", "ir", "il", "non", "dis", "de", "mis", "anti")
"""What a word's opposite may begin with."""

SAME = _by_word(
    """
    when whenever if
    because since
    although though
    ensure assure guarantee
    use uses used using utilise utilize employ
    error errors exception exceptions
    fix fixes fixed fixing repair repairs repaired resolve resolves resolved
    app apps application applications
    db database databases
    config configs configuration configurations settings setting
    repo repos repository repositories
    auth authentication
    docs documentation
    env environment environments
    folder folders directory directories
    seconds secs sec s
    minutes minute mins min
    hours hour hrs hr h
    milliseconds millisecond ms
    ok okay
    deploy deploys deployed deploying deployment deployments release releases released rollout
    """
)
"""Words for the same thing: those of one line stand for the first."""

LIGHT = word_set(
    """
    a actually again already also am an and are as at basically be been being but by currently do does
    doing even ever for get gets getting go goes going gone got happen happened happening happens has
    have having here him how in into is it it's its made make makes making now occur occurred occurs of
    on or over please quite really shall simply so still such sure take taken takes taking that that's
    the their them then there these they thing things this those to too took user's very way ways went
    what which who whom whose will with within would
    """
)
"""What can come or go without changing what is said."""

HEADS = word_set("when whenever if because since although though while whereas where so")
"""Words that begin a clause and say how it bears on the others, wherever it stands."""

BREAKS = word_set("and but or then after before until till unless")
"""Other words that a clause begins with."""
