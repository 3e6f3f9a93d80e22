"""The five plots. A plot is a list of beats. A beat is a list of ways to tell it, each a list of
sentence templates (grammar.py). A beat that is a dictionary has ways for each misfortune of the
thing. `None` among the ways leaves the beat out; PARAGRAPH starts a new paragraph.

QUESTIONS belong to a plot, COMMON_QUESTIONS to all: (ways to ask, the answer). A question can be
asked where the story has told everything that the question and the answer name.
"""

from __future__ import annotations

PARAGRAPH = [["\n\n"]]

INTRODUCTION = [
    ["Once upon a time there was {a:trait} {h} named {H}."],
    ["Once upon a time there was {a:h} named {H} who lived {home}."],
    ["Once there was {a:trait} {h} called {H}.", "{^he} lived {home}."],
    ["There once lived {a:h} {home}.", "{^his} name was {H}."],
    ["{H} was {a:trait} {h} who lived {home}."],
    ["{H} the {h} lived {home}."],
    ["Long ago, {a:trait} {h} named {H} lived {home}."],
    ["Far away, {home}, lived {a:h} called {H}."],
]

FRIEND_COMES = [
    ["Then {F} the {f} came by."],
    ["Just then {a:f} named {F} came along."],
    ["{F} the {f} heard {him} and came [running|closer|at once]."],
    ["Luckily {F}, {a:f}, was [near|not far away|on {fhis} way home]."],
    ["One of {his} friends, {F} the {f}, saw [it all|what had happened]."],
]

THANKS = [
    ['"Thank you!" said {H}.', "{^he} was so {glad} that {he} gave {F} {gift}."],
    ["{H} was {glad} again and gave {F} {gift}."],
    ["To thank {fhim}, {H} gave {F} {gift}."],
    ['"You are a true friend," said {H} and gave {F} {gift}.'],
    ["{H} was so {glad} that {he} [hugged {F}|danced with joy]."],
]



def ending(plot: str, *more: list[str]) -> list[list[str]]:
    """Ways to end a story; each plot has lessons of its own."""
    return [
        ["In the evening they {game}[.| until the moon came out.| together.]"],
        [f"{{H}} learned that {{lesson_{plot}}}."],
        [f"They {{game}} together, and {{H}} learned that {{lesson_{plot}}}."],
        ["That night {H} [slept well|smiled in {his} sleep|dreamed of the {t}]."],
        ["They [laughed|walked home together|sat by the fire], and all was well."],
        *more,
    ]


NEW_FRIENDS = ["From that day on, {H} and {F} were [best|good] friends."]
OLD_FRIENDS = ["And {H} and {F} stayed friends for ever."]
NOT_ALONE = ["And {H} never went to the {P} alone again."]

LOST = [
    INTRODUCTION,
    [
        ["{^his} {kin} had given {him} {a:c} {t}."],
        ["{^he} had {a:c} {t} and took it everywhere."],
        ["For {his} birthday {he} had got {a:c} {t} from {his} {kin}."],
        ["Most of all {he} loved {his} {c} {t}."],
        ["{^he} was very proud of {his} {c} {t}, a gift from {his} {kin}."],
    ],
    PARAGRAPH,
    [
        ["One {weather} {day}, {H} took the {t} to the {P}."],
        ["On a {weather} {day}, {he} went to the {P} with the {t}."],
        ["It was a {weather} {day} when {H} carried the {t} to the {P}."],
    ],
    {
        "fly": [
            ["Suddenly a strong wind carried the {t} {spot_fly}."],
            ["A gust of wind came up and blew the {t} {spot_fly}."],
            ["The wind was too strong and blew the {t} {spot_fly}."],
        ],
        "roll": [
            ["The {t} slipped away and rolled {spot_roll}."],
            ["But the ground was steep, and the {t} rolled {spot_roll}."],
            ["{H} put the {t} down for a moment, and it rolled {spot_roll}."],
        ],
        "float": [
            ["The {t} fell into the water and drifted {spot_float}."],
            ["The water was fast there, and it carried the {t} {spot_float}."],
            ["{H} set the {t} on the water, and it drifted {spot_float}."],
        ],
        "break": [
            ["On the way {H} tripped over {trip}, and the {t} broke."],
            ["{^he} did not look, tripped over {trip} and broke the {t}."],
            ["Because {he} was running, {H} tripped over {trip}, and the {t} broke in two."],
        ],
        "small": [
            ["There was a hole in {his} bag, and the {t} fell {spot_small}."],
            ["{H} sneezed, and the {t} fell {spot_small}."],
            ["Without a sound the {t} slipped out and fell {spot_small}."],
        ],
    },
    {
        "fly": [["{H} jumped and jumped, but {he} could not reach it."], None],
        "roll": [["{H} [pulled and pulled|tried all day], but {he} could not get it out."], None],
        "float": [["{H} could not swim and [could only watch|did not know what to do]."], None],
        "break": [["{H} tried to mend it, but the pieces [would not hold|fell apart]."], None],
        "small": [["{H} looked [everywhere|for hours], but {he} could not find it."], None],
    },
    [
        ["{H} was very {sad}."],
        ["{H} felt {sad} and [sat down|began to cry]."],
        ['"Oh no, my {t}!" cried {H}.', "{^he} was {sad}."],
        ["{^he} was so {sad} that {he} [cried|could not speak]."],
    ],
    FRIEND_COMES,
    [
        ['"What is the matter?" asked {F}.', '"My {t} is gone," said {H}.'],
        ['"Do not worry," said {F}.', '"I will help you."'],
        ['"Why are you {sad}?" asked {F}.', "{H} told {fhim} about the {t}."],
        None,
    ],
    {
        "fly": [["{F} fetched {tool_fly} and brought the {t} down."],
                ["With {tool_fly}, {F} got the {t} back."]],
        "roll": [["{F} fetched {tool_roll} and pulled the {t} out."],
                 ["With {tool_roll}, {F} got the {t} back."]],
        "float": [["{F} fetched {tool_float} and brought the {t} back to the shore."],
                  ["With {tool_float}, {F} got the {t} back."]],
        "break": [["{F} fetched {tool_break} and mended the {t}."],
                  ["With {tool_break}, {F} made the {t} as good as new."]],
        "small": [["{F} fetched {tool_small} and soon found the {t}."],
                  ["With {tool_small}, {F} found the {t} again."]],
    },
    PARAGRAPH,
    THANKS,
    ending("lost", NEW_FRIENDS, NOT_ALONE),
]  # fmt: skip

FOUND = [
    INTRODUCTION,
    PARAGRAPH,
    [
        ["One {weather} {day}, {H} found {a:c} {t} {p}."],
        ["On a {weather} {day}, {he} went for a walk and found {a:c} {t} {p}."],
        ["When {H} was {p} one {weather} {day}, {he} found {a:c} {t}."],
    ],
    [["It lay {hiding}."], ["Somebody had left it {hiding}."], None],
    [['"Whose {t} is this?" asked {H}.'], ['"Somebody must miss this {t}," said {H}.'], None],
    [
        ["First {he} asked {a:m}, but the {m} had never seen it."],
        ["{^he} showed it to {a:m}, but the {m} did not know."],
        None,
    ],
    [
        ["Then {he} met {F} the {f}, who was {sad}."],
        ["On the way home {H} met {a:f} named {F} who looked {sad}."],
        ["At last {he} heard {F} the {f}, who sounded {sad}."],
    ],
    [
        ['"I have lost my {t}," said {F}.', '"Here it is!" said {H}.'],
        ['"That is my {t}!" cried {F}.', "{H} gave it back [at once|with a smile]."],
        ["{F} had lost the {t} [the day before|long ago], and {H} gave it back."],
    ],
    PARAGRAPH,
    [
        ["{F} was so {glad} that {fhe} gave {H} {gift}."],
        ['"Thank you, {H}!" said {F}.', "{^fhe} was {glad} and gave {him} {gift}."],
        ["To thank {him}, {F} gave {H} {gift}."],
        ["{F} was {glad} and [hugged {H}|jumped for joy]."],
    ],
    ending("found", NEW_FRIENDS),
]

GIFT = [
    INTRODUCTION,
    PARAGRAPH,
    [
        ["{^his} friend {F} the {f} had a birthday, and {H} wanted to give {fhim} {a:t}."],
        ["It was the birthday of {F} the {f}.", "{H} wanted to give {fhim} {a:t}."],
    ],
    [
        ["So one {weather} {day}, {he} went to the {P}."],
        ["On a {weather} {day}, {H} set out for the {P}."],
    ],
    [
        ["There {a:m} had {a:c} {t} to sell, but it cost {price}."],
        ["{^he} saw {a:c} {t} there, but the {m} who sold it asked for {price}."],
        ['"This {c} {t} costs {price}," said {a:m} at the gate.'],
    ],
    [
        ["{H} had nothing to pay with, so {he} {job} for the {m}."],
        ['"I have no money, but I can work," said {H}.', "So {he} {job} for the {m}."],
        ["{^he} was {sad}, for {he} was poor, but then {he} {job} for the {m}."],
    ],
    [
        ["In the end the {m} gave {him} the {t}."],
        ['"Well done," said the {m} and gave {him} the {t}.'],
        ["The {m} was pleased and let {him} have the {t}."],
    ],
    PARAGRAPH,
    [
        ["{F} was {glad} when {fhe} saw the {c} {t}."],
        ['"What a beautiful {t}!" said {F}.', "{^fhe} was {glad}."],
        ["When {H} brought the {t}, {F} was {glad} and gave {him} {gift}."],
    ],
    ending("gift", OLD_FRIENDS),
]

QUARREL = [
    INTRODUCTION,
    [
        ["{^his} best friend was {F} the {f}."],
        ["Next door lived {F}, {a:f}."],
        ["{^he} often played with {F} the {f}."],
    ],
    PARAGRAPH,
    [
        ["One {weather} {day}, they found {a:c} {t} {p}."],
        ["On a {weather} {day}, the two of them saw {a:c} {t} {p}."],
    ],
    [["It lay {hiding}."], None],
    [
        ['"It is mine!" cried {H}.', '"No, I saw it first!" cried {F}.'],
        ["Both of them wanted the {t}, and they began to quarrel."],
        ["{H} pulled on one side and {F} on the other."],
    ],
    [["They were both {sad}."], ["Soon they were both {sad} and would not speak."], None],
    [
        ["An old and wise {m} came by.", '"Why do you not take turns?" asked the {m}.'],
        ["Then they met {a:m}.", '"Share it," said the {m}, "and you will both be happy."'],
        ["{A:m} heard the noise.", '"You could take turns," said the {m}.'],
    ],
    [
        ["So {H} had the {t} {turn} and {F} had it {turn2}."],
        ["From then on, {H} had the {t} {turn}, and {F} had it {turn2}."],
        ["They agreed: {H} got the {t} {turn} and {F} got it {turn2}."],
    ],
    PARAGRAPH,
    [
        ["Now both were {glad}."],
        ["They were {glad} and gave the {m} {gift}."],
        ["To thank the {m}, they brought {gift}."],
    ],
    ending("quarrel", OLD_FRIENDS),
]

QUEST = [
    INTRODUCTION,
    [
        ["{^his} {kin} had told {him} about {a:c} {t} that was hidden {p}."],
        ["One {day}, {his} {kin} said that there was {a:c} {t} hidden {p}."],
        ["For years {he} had dreamed of {a:c} {t} that was hidden {p}."],
    ],
    PARAGRAPH,
    [
        ["So one {weather} {day}, {H} packed {food} and set out."],
        ["On a {weather} {day}, {he} put {food} into a bag and started to walk."],
        ["It was {weather} when {H} set out with {food}."],
    ],
    [
        ["But soon {barrier} stopped {him}."],
        ["After a while {he} came to {barrier} and could not go on."],
        ["The way was long, and then there was {barrier}."],
    ],
    [["{H} was {sad}."], ["{H} felt {sad} and wanted to turn back."], None],
    FRIEND_COMES,
    [
        ["{F} knew {way} and went ahead."],
        ['"I know {way}," said {F}, "come with me."'],
        ["{F} showed {him} {way}."],
    ],
    [
        ["Together they came to the {P}, and there lay the {t} {hiding}."],
        ["At last they reached the {P} and found the {t} {hiding}."],
        ["They searched {p} until {H} found the {t} {hiding}."],
    ],
    PARAGRAPH,
    [
        ["{H} was so {glad} that {he} gave {F} {gift}."],
        ["{H} was {glad} and shared {food} with {F}."],
        ["To thank {fhim}, {H} gave {F} {gift}."],
        ["They were {glad} and took it home together."],
    ],
    ending("quest", NEW_FRIENDS, NOT_ALONE),
]

PLOTS = {"lost": LOST, "found": FOUND, "gift": GIFT, "quarrel": QUARREL, "quest": QUEST}

COMMON_QUESTIONS = [
    (["What was the {h} called?", "What is the name of the {h}?", "What was the {h}'s name?"],
     "The {h} was called {H}."),
    (["What kind of animal was {H}?", "What was {H}?", "Which animal was {H}?"], "{H} was {a:h}."),
    (["Where did {H} live?", "Where was {H}'s home?"], "{H} lived {home}."),
    (["What was {H} like?", "What kind of {h} was {H}?"], "{H} was {a:trait} {h}."),
    (["What was the weather like?", "How was the weather?"], "It was {weather}."),
    (["What colour was the {t}?", "Which colour did the {t} have?"], "The {t} was {c}."),
    (["What kind of animal was {F}?", "What was {F}?", "Which animal was {F}?"], "{F} was {a:f}."),
    (["What was the {f} called?", "What was the {f}'s name?"], "The {f} was called {F}."),
    *[(["What did {H} learn?", "What did the {h} learn?"], f"{{H}} learned that {{lesson_{plot}}}.")
      for plot in PLOTS],
    (["What did they do together?", "What did {H} and {F} do together?"], "They {game}."),
]  # fmt: skip

LOST_QUESTIONS = [
    (["Who lost the {t}?", "Whose {t} was it?"], "It was the {t} of {H} the {h}."),
    (["Who gave {H} the {t}?", "Where did {H} get the {t} from?"],
     "{^his} {kin} gave {him} the {t}."),
    (["Where did {H} go?", "Where did {H} take the {t}?"], "{H} went to the {P}."),
    (["Why did {H} lose the {t}?", "What happened to the {t}?"],
     "The wind blew it {spot_fly}."),
    (["Why did {H} lose the {t}?", "What happened to the {t}?"], "It rolled {spot_roll}."),
    (["Why did {H} lose the {t}?", "What happened to the {t}?"], "It drifted {spot_float}."),
    (["Why did the {t} break?", "What happened to the {t}?"], "{H} tripped over {trip}."),
    (["Why did {H} lose the {t}?", "What happened to the {t}?"], "It fell {spot_small}."),
    (["How did {H} feel then?", "How did {H} feel without the {t}?"], "{H} felt {sad}."),
    (["Who helped {H}?", "Who helped the {h}?", "Who got the {t} back?"],
     "{F} the {f} helped {H}."),
    (["What did {F} use?", "How did {F} help?"], "{F} used {tool_fly}."),
    (["What did {F} use?", "How did {F} help?"], "{F} used {tool_roll}."),
    (["What did {F} use?", "How did {F} help?"], "{F} used {tool_float}."),
    (["What did {F} use?", "How did {F} help?"], "{F} used {tool_break}."),
    (["What did {F} use?", "How did {F} help?"], "{F} used {tool_small}."),
    (["What did {H} give {F}?", "How did {H} thank {F}?"], "{H} gave {F} {gift}."),
]  # fmt: skip

FOUND_QUESTIONS = [
    (["Who found the {t}?", "Who found it?"], "{H} the {h} found the {t}."),
    (["What did {H} find?", "What did the {h} find?"], "{H} found {a:c} {t}."),
    (["Where did {H} find the {t}?", "Where was the {t}?"], "{H} found the {t} {p}."),
    (["Where exactly did the {t} lie?", "Where did the {t} lie?"], "It lay {hiding}."),
    (["Whom did {H} ask first?", "Who had never seen the {t}?"], "{H} asked {a:m} first."),
    (["Whose {t} was it?", "Who had lost the {t}?"], "It was the {t} of {F} the {f}."),
    (["How did {F} feel at first?", "How was {F} before {H} came?"], "{F} was {sad}."),
    (["What did {F} give {H}?", "How did {F} thank {H}?"], "{F} gave {H} {gift}."),
]

GIFT_QUESTIONS = [
    (["Who had a birthday?", "Whose birthday was it?"], "It was the birthday of {F} the {f}."),
    (["What did {H} want to give {F}?", "What was the gift?"], "{H} wanted to give {F} {a:t}."),
    (["Where did {H} go?", "Where was the {t} sold?"], "{H} went to the {P}."),
    (["What did the {t} cost?", "How much was the {t}?"], "The {t} cost {price}."),
    (["Who sold the {t}?", "Who had the {t}?"], "The {m} sold the {t}."),
    (["What did {H} do for the {m}?", "How did {H} earn the {t}?"], "{H} {job} for the {m}."),
    (["How did {F} feel in the end?", "How did {F} like the {t}?"], "{F} was {glad}."),
]

QUARREL_QUESTIONS = [
    (["What did they find?", "What did they quarrel about?"], "They found {a:c} {t}."),
    (["Where did they find the {t}?", "Where was the {t}?"], "They found the {t} {p}."),
    (["Where exactly did the {t} lie?", "Where did the {t} lie?"], "It lay {hiding}."),
    (["Who was {H}'s friend?", "Who was with {H}?"], "{F} the {f} was {H}'s friend."),
    (["Who told them to share?", "Who had the good idea?"], "The {m} told them to take turns."),
    (["When did {H} have the {t}?", "When was it {H}'s turn?"], "{H} had the {t} {turn}."),
    (["When did {F} have the {t}?", "When was it {F}'s turn?"], "{F} had the {t} {turn2}."),
    (["How did they feel in the end?", "How did they feel at the end?"], "They were {glad}."),
    (["What did they give the {m}?", "How did they thank the {m}?"], "They gave the {m} {gift}."),
]

QUEST_QUESTIONS = [
    (["What did {H} look for?", "What was hidden?"], "{H} looked for {a:c} {t}."),
    (["Where was the {t} hidden?", "Where did they find the {t}?"], "The {t} was {p}."),
    (["Where exactly did the {t} lie?", "Where did the {t} lie?"], "It lay {hiding}."),
    (["Who told {H} about the {t}?", "Who knew about the {t}?"],
     "{^his} {kin} told {him} about it."),
    (["What did {H} take along?", "What did {H} have to eat?"], "{H} took {food}."),
    (["What stopped {H}?", "What was in the way?"], "{^barrier} stopped {H}."),
    (["Who helped {H}?", "Who helped the {h}?"], "{F} the {f} helped {H}."),
    (["How did they get there?", "What did {F} know?"], "{F} knew {way}."),
    (["What did {H} give {F}?", "How did {H} thank {F}?"], "{H} gave {F} {gift}."),
]  # fmt: skip

QUESTIONS = {
    "lost": LOST_QUESTIONS,
    "found": FOUND_QUESTIONS,
    "gift": GIFT_QUESTIONS,
    "quarrel": QUARREL_QUESTIONS,
    "quest": QUEST_QUESTIONS,
}


def templates_of(plot: list) -> list[str]:
    """Every sentence that a story of this plot can hold."""
    found = []
    for beat in plot:
        for ways in beat.values() if isinstance(beat, dict) else [beat]:
            found += [sentence for way in ways if way for sentence in way if sentence.strip()]
    return list(dict.fromkeys(found))


def all_templates() -> list[str]:
    """Every sentence that a story can hold."""
    found = [sentence for plot in PLOTS.values() for sentence in templates_of(plot)]
    return list(dict.fromkeys(found))
