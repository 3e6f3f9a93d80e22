#!/usr/bin/env python3
"""Tests of every option of `hearth serve`.

    serve_test.py --hearth build/release/hearth [TestCase.test...]

The models are tiny and their every logit is known (tests/cli/chain_models.py).
"""

from serve_access_test import (  # noqa: F401
    AddressTest,
    DrainTest,
    HostTest,
    KeyTest,
    LogTest,
    OriginTest,
    RouteTest,
    TemplateTest,
)
from serve_case import main
from serve_embed_test import EmbedServeTest  # noqa: F401
from serve_end_test import BusyEndTest, CutFileTest  # noqa: F401
from serve_engine_test import EngineTest  # noqa: F401
from serve_fields_test import OtherFieldsTest  # noqa: F401
from serve_limits_test import (  # noqa: F401
    BodyLimitTest,
    ConnectionsTest,
    ContextTest,
    HttpLimitTest,
    QueueTest,
    ReplyTest,
    TimeTest,
)
from serve_memory_test import MemoryLimitTest  # noqa: F401
from serve_sampling_test import DefaultsTest, FieldTest, FiguresTest, SeedTest  # noqa: F401
from serve_shape_test import ShapeTest  # noqa: F401
from unheard_test import UnheardTest  # noqa: F401


if __name__ == "__main__":
    main(__doc__)
