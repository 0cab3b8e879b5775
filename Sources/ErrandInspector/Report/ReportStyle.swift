/// The style of the report; it has no colours that are not defined at its beginning.
enum ReportStyle {
    static let layout: StaticString = """
        :root {
          color-scheme: light dark;
          --page: #f6f7f9; --panel: #fff; --line: #dfe3e8; --text: #1b1f24; --quiet: #57606a; --accent: #0a5bd3;
          --hover: #eef3fb; --code: #f3f5f7;
          --ok: #116329; --ok-back: #dcf5e3; --turn: #0550ae; --turn-back: #ddeeff; --warn: #7a4100; --warn-back: #fff0d0;
          --bad: #a40e26; --bad-back: #ffe3e3;
          --p0: #aab2bd; --p1: #1f9e89; --p2: #e08a1e; --p3: #a05bc9; --p4: #2f6fde; --p5: #4aa84e; --p6: #1c7ed6;
          --top: 0px;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --page: #0f1216; --panel: #171b21; --line: #2b323b; --text: #e6eaef; --quiet: #9aa5b1; --accent: #6cb0ff;
            --hover: #1e2630; --code: #11151a;
            --ok: #7fe0a0; --ok-back: #12351f; --turn: #8fc4ff; --turn-back: #10294a; --warn: #f5c56b;
            --warn-back: #3a2a08; --bad: #ff9c9c; --bad-back: #471a1e;
            --p0: #6b7683; --p1: #35c4ac; --p2: #f0a447; --p3: #c08be6; --p4: #6b9cf5; --p5: #6ac46d; --p6: #4fb3ff;
          }
        }
        * { box-sizing: border-box; }
        html { scroll-padding-top: calc(var(--top) + 2.2rem); }
        body { margin: 0; background: var(--page); color: var(--text);
          font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
        h1 { font-size: 1.15rem; margin: 0; }
        h2 { font-size: .8rem; margin: 0 0 .35rem; color: var(--quiet); font-weight: 600; }
        p { margin: 0; }
        [hidden] { display: none !important; }
        .quiet, .summary, footer { color: var(--quiet); }
        .skip { position: absolute; left: -999rem; }
        .skip:focus { left: 1rem; top: .5rem; z-index: 3; background: var(--panel); padding: .3rem .6rem; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; border-radius: 3px; }
        main:focus { outline: none; }
        .top { position: sticky; top: 0; z-index: 2; background: var(--panel); border-bottom: 1px solid var(--line);
          padding: .7rem 1rem .55rem; display: flex; flex-wrap: wrap; gap: .55rem 1.1rem; align-items: center; }
        .title { display: flex; flex-wrap: wrap; align-items: baseline; gap: .1rem .8rem; flex: 1 1 100%; }
        form { display: flex; flex-wrap: wrap; gap: .5rem .9rem; align-items: center; flex: 1 1 auto; }
        .search input { font: inherit; color: inherit; background: var(--page); border: 1px solid var(--line);
          border-radius: 6px; padding: .28rem .55rem; width: 16rem; max-width: 100%; }
        .search input::placeholder { color: var(--quiet); opacity: 1; }
        button { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--line); border-radius: 6px;
          padding: .28rem .65rem; cursor: pointer; }
        button:hover { background: var(--hover); }
        .kinds { display: flex; flex-wrap: wrap; gap: .3rem; }
        .kinds button[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); font-weight: 600;
          box-shadow: inset 0 0 0 1px var(--accent); }
        .count { color: var(--quiet); font-weight: 400; font-variant-numeric: tabular-nums; }
        .legend { display: flex; flex-wrap: wrap; gap: .1rem .8rem; list-style: none; margin: 0; padding: 0;
          font-size: .8rem; color: var(--quiet); }
        i { display: inline-block; width: .65rem; height: .65rem; border-radius: 2px; margin-right: .35rem; }
        .p0 { background: var(--p0); fill: var(--p0); } .p1 { background: var(--p1); fill: var(--p1); }
        .p2 { background: var(--p2); fill: var(--p2); } .p3 { background: var(--p3); fill: var(--p3); }
        .p4 { background: var(--p4); fill: var(--p4); } .p5 { background: var(--p5); fill: var(--p5); }
        .p6 { background: var(--p6); fill: var(--p6); }
        ol.rows { list-style: none; margin: 0; padding: 0; }
        ol.rows > li { background: var(--panel); border-bottom: 1px solid var(--line); }
        .row { display: grid; align-items: center; gap: 0 .9rem; padding: .42rem 1rem;
          grid-template-columns: 4.6rem 3.9rem minmax(9rem, 2fr) 6.6rem 4.4rem 4.8rem minmax(8rem, 2fr); }
        .columns { position: sticky; top: var(--top); z-index: 1; background: var(--page); color: var(--quiet);
          font-size: .8rem; font-weight: 600; border-bottom: 1px solid var(--line); padding: .3rem 1rem; }
        .columns .method { font-size: inherit; } .columns .bar { background: none !important; }
        summary { cursor: pointer; list-style: none; }
        summary::-webkit-details-marker { display: none; }
        summary:hover, details[open] > summary { background: var(--hover); }
        summary:focus-visible { outline-offset: -2px; }
        .at, .size, .time { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
        .at, .host { color: var(--quiet); }
        .method { font-weight: 600; font-size: .85rem; overflow: hidden; text-overflow: ellipsis; }
        .url { min-width: 0; white-space: nowrap; display: flex; align-items: baseline; gap: .45rem; }
        .path, .host, .path bdi { min-width: 0; overflow: hidden; text-overflow: ellipsis; flex: 0 1 auto; }
        .path { display: flex; } .path bdi + bdi { flex: none; }
        .host { flex-shrink: 9999; }
        .note { flex: none; }
        .host { font-size: .8rem; }
        .note { font-size: .75rem; border: 1px solid currentColor; border-radius: 4px; padding: 0 .35rem; color: var(--warn);
          background: var(--warn-back); }
        .status b { display: inline-block; font-size: .82rem; font-weight: 600; border-radius: 4px; padding: .02rem .45rem;
          font-variant-numeric: tabular-nums; white-space: nowrap; max-width: 100%; overflow: hidden;
          text-overflow: ellipsis; vertical-align: middle; }
        .k1, .k2 { color: var(--ok); background: var(--ok-back); } .k3 { color: var(--turn); background: var(--turn-back); }
        .k4 { color: var(--warn); background: var(--warn-back); }
        .k5, .kfailed { color: var(--bad); background: var(--bad-back); }
        svg { display: block; width: 100%; height: .7rem; }
        .bar { background: linear-gradient(90deg, var(--line) 1px, transparent 1px) 0 0 / 25% 100%; }

        """

    static let details: StaticString = """
        .details { padding: .8rem 1rem 1.1rem; border-top: 1px solid var(--line); display: grid; gap: .9rem; }
        .columns2 { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: .9rem 2rem; }
        section { min-width: 0; }
        .error { color: var(--bad); background: var(--bad-back); border-radius: 6px; padding: .35rem .6rem;
          overflow-wrap: anywhere; }
        .full { overflow-wrap: anywhere; font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
          font-size: .82rem; }
        table { border-collapse: collapse; width: 100%; font-size: .82rem; }
        th, td { text-align: left; vertical-align: top; padding: .13rem .8rem .13rem 0; overflow-wrap: anywhere; }
        th { font-weight: 500; color: var(--quiet); width: 1%; white-space: nowrap; max-width: 16rem; overflow: hidden;
          text-overflow: ellipsis; }
        td { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
        tr + tr > * { border-top: 1px solid var(--line); }
        .number { text-align: right; font-variant-numeric: tabular-nums; width: 5.5rem; white-space: nowrap; }
        .phases td, .phases th { vertical-align: middle; }
        .total th, .total td { color: var(--text); font-weight: 600; }
        .loads ul { list-style: none; margin: 0; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1.2rem;
          font-size: .85rem; }
        a { color: var(--accent); }
        pre { margin: .5rem 0 0; padding: .6rem .7rem; background: var(--code); border: 1px solid var(--line);
          border-radius: 6px; max-height: 22rem; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere;
          font: .8rem/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
        footer { padding: .9rem 1rem 2rem; font-size: .82rem; }
        .empty { padding: 3rem 1rem; text-align: center; color: var(--quiet); }
        .empty h2 { font-size: 1rem; color: var(--text); }
        .empty p { max-width: 34rem; margin: auto; }
        @media (max-width: 720px) {
          .columns { display: none; }
          .top { position: static; padding: .6rem .8rem; }
          html { scroll-padding-top: .5rem; }
          form { flex: 1 1 100%; }
          .search, .search input { width: 100%; }
          .search .quiet { display: none; }
          .row { grid-template-columns: 1fr auto auto auto; grid-template-areas: "url url url url"
            "method status size time" "bar bar bar bar"; gap: .25rem .7rem; padding: .6rem .8rem; }
          .at { display: none; }
          .url { grid-area: url; white-space: normal; overflow-wrap: anywhere; flex-wrap: wrap; gap: 0 .45rem; }
          .method { grid-area: method; } .status { grid-area: status; } .size { grid-area: size; }
          .time { grid-area: time; } .bar { grid-area: bar; }
          .columns2 { grid-template-columns: minmax(0, 1fr); }
          .details { padding: .8rem; }
        }
        @media (forced-colors: active) { rect { fill: CanvasText; } .status b { border: 1px solid; } }
        @media print { .top { position: static; } form { display: none; } }

        """
}
