"""The words of the demo model's world: who acts, with what, where, and how it goes wrong.

Everything a story can hold stands in these tables. A slot of a sentence ({h}, {t}, {spot_fly}, see
grammar.py) is filled from the table of the same name, and the parser reads the same tables. A name
has a gender, and a thing has a kind of misfortune that can befall it, so that sentences agree.
"""

from __future__ import annotations

# Some letters beyond ASCII, so that text has characters of two bytes.
GIRLS = (
    "Mina Lily Rosa Nora Ella Ida Clara Zoë Chloé Maya Tilda Greta Anna Elsie Ruby Hazel Ivy Olive "
    "Poppy Wren Juno Inès Freya Daisy"
).split()
BOYS = (
    "Pip Otto Max Finn Hugo Oscar Tom Ben Emil Felix Leo José Björn Noël Milo Jasper Rufus Barnaby "
    "Toby Arlo Gus Bruno Oliver Sam"
).split()

# Each animal and its picture.
ANIMALS = {
    "fox": "🦊", "bear": "🐻", "rabbit": "🐰", "cat": "🐱", "dog": "🐶", "mouse": "🐭",
    "frog": "🐸", "owl": "🦉", "duck": "🦆", "hedgehog": "🦔", "otter": "🦦", "badger": "🦡",
    "turtle": "🐢", "penguin": "🐧", "wolf": "🐺", "deer": "🦌", "pig": "🐷", "goat": "🐐",
    "sheep": "🐑", "horse": "🐴", "cow": "🐮", "hamster": "🐹", "monkey": "🐵", "elephant": "🐘",
    "lion": "🦁", "tiger": "🐯", "beaver": "🦫", "raccoon": "🦝", "swan": "🦢", "camel": "🐫",
    "koala": "🐨", "panda": "🐼",
}  # fmt: skip

COLOURS = "red blue green yellow white black golden silver brown purple orange pink grey".split()
METAL = "golden silver black red blue".split()

# Each thing: the misfortune that can befall it, its picture, and its colours if not all fit.
THINGS = {
    "kite": ("fly", "🪁", COLOURS), "balloon": ("fly", "🎈", COLOURS),
    "hat": ("fly", "🎩", COLOURS), "umbrella": ("fly", "🌂", COLOURS),
    "scarf": ("fly", "🧣", COLOURS), "letter": ("fly", "📨", ["white", "blue", "pink", "yellow"]),
    "map": ("fly", "🗺", ["yellow", "brown", "white", "green"]), "feather": ("fly", "🪶", COLOURS),
    "ball": ("roll", "🏀", COLOURS), "apple": ("roll", "🍎", ["red", "green", "yellow", "golden"]),
    "pumpkin": ("roll", "🎃", ["orange", "yellow", "green", "white"]),
    "coconut": ("roll", "🥥", ["brown", "white", "green"]),
    "melon": ("roll", "🍈", ["green", "yellow", "orange"]),
    "boat": ("float", "🚤", COLOURS), "canoe": ("float", "🛶", COLOURS),
    "bucket": ("float", "🪣", COLOURS), "basket": ("float", "🧺", COLOURS),
    "bottle": ("float", "🍾", ["green", "blue", "white", "brown"]),
    "lantern": ("break", "🏮", COLOURS), "teapot": ("break", "🫖", COLOURS),
    "clock": ("break", "🕰", COLOURS), "drum": ("break", "🥁", COLOURS),
    "violin": ("break", "🎻", ["brown", "red", "black", "golden"]),
    "guitar": ("break", "🎸", COLOURS), "mirror": ("break", "🪞", COLOURS),
    "bicycle": ("break", "🚲", COLOURS), "chair": ("break", "🪑", COLOURS),
    "sled": ("break", "🛷", COLOURS), "telescope": ("break", "🔭", COLOURS),
    "key": ("small", "🔑", METAL), "ring": ("small", "💍", METAL),
    "button": ("small", "🔘", COLOURS), "coin": ("small", "🪙", ["golden", "silver"]),
    "shell": ("small", "🐚", ["white", "pink", "brown", "orange"]),
    "spoon": ("small", "🥄", METAL), "bell": ("small", "🔔", METAL),
    "candle": ("small", "🕯", COLOURS), "crayon": ("small", "🖍", COLOURS),
}  # fmt: skip

# Each place and the preposition of somebody who is there.
PLACES = {
    "harbour": "at", "forest": "in", "lake": "at", "village": "in", "market": "at",
    "garden": "in", "hill": "on", "meadow": "in", "beach": "on", "river": "by",
    "lighthouse": "at", "mountain": "on", "orchard": "in", "barn": "in", "station": "at",
    "bridge": "on", "windmill": "by", "island": "on", "school": "at", "library": "in",
    "bakery": "in", "castle": "in", "desert": "in", "park": "in",
}  # fmt: skip

# The words for one character's turn, and for the other's.
TURNS = {
    "in the mornings": "in the afternoons", "on Mondays": "on Sundays", "in summer": "in winter",
    "on rainy days": "on sunny days",
}
TURNS |= {second: first for first, second in TURNS.items()}  # fmt: skip

TABLES = {
    "trait": "brave shy curious clever young gentle cheerful hungry patient quiet kind old".split(),
    "home": [
        "in a small house by the mill", "under an old oak", "in a burrow near the road",
        "in a hollow tree", "behind the church", "in a cottage with a crooked roof",
        "at the edge of the woods", "in a tent by the sea", "in a house of stone",
        "between two tall pines", "in a boat on the canal", "above the old shop",
    ],
    "kin": "grandmother grandfather uncle aunt mother father".split(),
    "day": "morning afternoon evening day".split(),
    "weather": "sunny rainy foggy cold warm bright cloudy snowy windy stormy".split(),
    "spot_fly": [
        "into a tall tree", "onto a roof", "over a high wall", "onto a steep rock",
        "into a thorn bush", "onto a chimney",
    ],
    "spot_roll": [
        "into a deep hole", "under a fallen tree", "into the nettles", "down a well",
        "into a dark cave", "under a heavy cart",
    ],
    "spot_float": [
        "to the far bank", "behind the reeds", "under a low bridge", "onto a sandbank",
        "behind a big rock", "towards the waterfall",
    ],
    "trip": ["a root", "a stone", "a rope", "a sleeping snail", "a bucket of water", "a log"],
    "spot_small": [
        "into the long grass", "between two stones", "into the mud", "under the dry leaves",
        "into a crack in the floor", "into a pile of hay",
    ],
    "tool_fly": ["a ladder", "a long stick", "a fishing rod", "a broom"],
    "tool_roll": ["a rope", "an iron hook", "a long branch", "a shovel"],
    "tool_float": ["a fishing net", "a long pole", "a little raft", "an oar"],
    "tool_break": ["some glue", "a ball of string", "a hammer", "some wire"],
    "tool_small": ["a lamp", "a rake", "a magnifying glass", "a sieve"],
    "sad": "sad worried cross lonely upset miserable".split(),
    "glad": "happy glad proud thankful merry delighted".split(),
    "gift": [
        "a jar of honey", "a warm pie", "a bag of nuts", "three plums", "a slice of cake",
        "a pot of soup", "a woolly blanket", "a loaf of bread", "a bunch of flowers",
        "a cup of cocoa", "a bowl of berries", "a piece of cheese",
    ],
    "lesson_lost": [
        "it is good to ask for help", "friends help each other", "nobody is too small to help",
        "it is never too late to try again",
    ],
    "lesson_found": [
        "kindness comes back", "it is good to be honest", "giving is as good as getting",
        "lost things long for their owners",
    ],
    "lesson_gift": [
        "work makes a gift worth more", "the best things are worth waiting for",
        "a kind heart finds a way", "a gift makes two people happy",
    ],
    "lesson_quarrel": [
        "sharing makes everyone happy", "a friend is worth more than a toy",
        "a quarrel has no winner", "taking turns is better than fighting",
    ],
    "lesson_quest": [
        "patience wins in the end", "the way is shorter with a friend",
        "dreams can come true", "every wall has a door",
    ],
    "price": [
        "three coins", "ten shells", "five acorns", "a basket of berries", "seven buttons",
        "twelve nuts", "two jars of jam", "a whole cheese",
    ],
    "job": [
        "swept the floor", "carried water", "picked apples", "washed the windows",
        "stacked the wood", "painted the fence", "fed the hens", "peeled potatoes",
    ],
    "turn": list(TURNS),
    "barrier": [
        "a wide river", "a locked gate", "a high wall", "a thick hedge", "a deep ravine",
        "a muddy swamp",
    ],
    "way": [
        "a secret tunnel", "a narrow path", "some stepping stones", "a hidden door",
        "an old rope bridge", "a little ferry",
    ],
    "hiding": [
        "in the tall grass", "behind a curtain of ivy", "under some branches", "behind an old wall",
        "under a blanket", "on a heap of leaves", "behind a barrel", "in the shade of a tree",
    ],
    "food": [
        "a sandwich", "two apples", "a bottle of milk", "some biscuits", "a bag of raisins",
        "a boiled egg",
    ],
    "game": [
        "sang songs", "told stories", "danced in a circle", "looked at the stars",
        "drank hot tea", "ate pancakes", "played hide and seek", "baked a cake",
    ],
}  # fmt: skip

# Weather in which a thing can be blown or washed away; other misfortunes come in any weather.
WEATHER_OF = {
    "fly": ["windy", "stormy", "cloudy", "cold", "bright"],
    "float": ["rainy", "stormy", "cloudy", "warm", "windy"],
}

# Places where a thing can fall into water.
WATERS = ["harbour", "lake", "beach", "river", "lighthouse", "bridge", "island", "park"]

NAMES = {**{name: "she" for name in GIRLS}, **{name: "he" for name in BOYS}}
PRONOUNS = {
    "he": {"he": "he", "him": "him", "his": "his", "self": "himself"},
    "she": {"he": "she", "him": "her", "his": "her", "self": "herself"},
}


def article(word: str) -> str:
    """The indefinite article that stands before `word`."""
    return "an" if word[0] in "aeiou" else "a"
